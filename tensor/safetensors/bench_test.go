package safetensors_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// BenchmarkFile is 64 MB in 16 tensors.
func BenchmarkFile(b *testing.B) {
	var list []safetensors.Named
	for i := range 16 {
		list = append(list, safetensors.Named{Name: string(rune('a' + i)), Tensor: tensor.Full(tensor.SpecOf(tensor.F32, 1<<20), float64(i))})
	}
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(64 << 20)
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	path := filepath.Join(b.TempDir(), "a")
	if err := safetensors.WriteFile(path, list, nil); err != nil {
		b.Fatal(err)
	}
	f, err := safetensors.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	run("write to nowhere", func() error { return safetensors.Write(io.Discard, list, nil) })
	run("write", func() error { return safetensors.WriteFile(path+"2", list, nil) })
	run("verify", f.Verify)
	run("read", func() error {
		for _, n := range list {
			if _, err := f.Tensor(n.Name); err != nil {
				return err
			}
		}
		return nil
	})
}
