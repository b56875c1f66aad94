package jsonl_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cortado-ml/cortado/train/jsonl"
)

func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "log.jsonl")

	log, err := jsonl.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step, loss := range []float64{2.5, 1.25, 0.625} {
		if err := log.Write(step, map[string]float64{"loss": loss}); err != nil {
			fmt.Println(err)
		}
	}
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}

	file, err := os.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	for entry, err := range jsonl.Read(file) {
		fmt.Println(entry.Step, entry.Values, err)
	}
	// Output:
	// 0 map[loss:2.5] <nil>
	// 1 map[loss:1.25] <nil>
	// 2 map[loss:0.625] <nil>
}
