package audio

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// Folder is sounds in WAV files, one folder for each class. It is a data.Dataset: y is i64[], the number of the class, and x the sound, at one rate
// and of one length: f32[samples], or its features.
type Folder struct {
	files fs.FS
	list  data.Classes
	form  form
}

// OpenFolder lists the sounds: the files that end in .wav, as data.FindClasses does. They are read later, one by one, as DecodeWAV does.
func OpenFolder(files fs.FS, rate, samples int, features *Features) (*Folder, error) {
	form, err := newForm(rate, samples, features)
	if err != nil {
		return nil, err
	}
	list, err := data.FindClasses(files, "WAV file", ".wav")
	if err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	return &Folder{files, list, form}, nil
}

// Len is the number of sounds.
func (d *Folder) Len() int { return len(d.list.Files) }

// Specs are f32[samples] or that of the features, and i64[].
func (d *Folder) Specs() (x, y tensor.Spec) { return d.form.x, tensor.SpecOf(tensor.I64) }

// Sample reads sound i. An error names its file.
func (d *Folder) Sample(i int, x, y tensor.Tensor) error {
	if i < 0 || i >= d.Len() {
		return fmt.Errorf("audio: there is no sample %d: there are %d", i, d.Len())
	}
	if wantX, wantY := d.Specs(); x.Spec() != wantX || y.Spec() != wantY {
		return fmt.Errorf("audio: a sample is %v and %v, not %v and %v", wantX, wantY, x.Spec(), y.Spec())
	}
	if err := d.read(d.list.Files[i], x); err != nil {
		return named(d.list.Files[i], err)
	}
	y.SetInt(0, int64(d.list.Labels[i]))
	return nil
}

func (d *Folder) read(name string, x tensor.Tensor) error {
	file, err := d.files.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return d.form.decode(file, x)
}

// Classes are the names of the classes, in the order of the labels.
func (d *Folder) Classes() []string { return slices.Clone(d.list.Names) }

// Labels are the numbers of the classes of all sounds, as data.SplitClasses wants them.
func (d *Folder) Labels() []int { return slices.Clone(d.list.Labels) }

// Name is the file of sound i.
func (d *Folder) Name(i int) string { return d.list.Files[i] }
