package atomicfile_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cortado-ml/cortado/internal/atomicfile"
)

func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "weights")
	for _, text := range []string{"first", "second"} {
		err := atomicfile.Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	b, err := os.ReadFile(path)
	fmt.Println(string(b), err)
	// Output: second <nil>
}
