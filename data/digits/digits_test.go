package digits_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/data/digits"
)

func Example() {
	files, err := digits.Files()
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := files.Open("test/7/croak-en-us-nyc-1.wav")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	seven, err := audio.ReadWAV(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seven.Rate, "samples a second,", seven.Len(), "in all")
	// Output: 8000 samples a second, 3041 in all
}

// TestFiles reads every file: each digit by each voice twice, at 8 kHz, and as loud as can be; no voice is in both
// folders.
func TestFiles(t *testing.T) {
	files, err := digits.Files()
	if err != nil {
		t.Fatal(err)
	}
	count, voices, seen := map[string]int{}, map[string]string{}, map[string]string{}
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		c, err := audio.ReadWAV(strings.NewReader(string(raw)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		loudest := float32(0)
		for _, v := range c.Channels[0] {
			loudest = max(loudest, v, -v)
		}
		if c.Rate != 8000 || len(c.Channels) != 1 || c.Len() < 1000 || c.Len() > 12000 || loudest < 0.9 {
			t.Errorf("%s: %d channels of %d samples, %d a second, up to %v", name, len(c.Channels), c.Len(), c.Rate, loudest)
		}
		split, digit, voice := name[:strings.Index(name, "/")], path.Dir(name), path.Base(name)
		voice = voice[:strings.Index(voice, "-en-")]
		if other, there := voices[voice]; there && other != split {
			t.Errorf("%s speaks in %s and in %s", voice, other, split)
		}
		voices[voice] = split
		count[digit]++
		sum := fmt.Sprintf("%x", sha256.Sum256(raw))
		if other, there := seen[sum]; there {
			t.Errorf("%s is %s", name, other)
		}
		seen[sum] = name
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for digit := range 10 {
		if train, test := count[fmt.Sprint("train/", digit)], count[fmt.Sprint("test/", digit)]; train != 84 || test != 24 {
			t.Errorf("digit %d: %d files to train on, %d to test", digit, train, test)
		}
	}
	if len(count) != 20 || len(voices) != 54 {
		t.Errorf("%d folders, %d voices", len(count), len(voices))
	}
}
