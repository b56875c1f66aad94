package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/sched"
)

// openEngine opens the devices of a list such as "cpu" or "cpu,cpu", each with its share of the processors. close ends them.
func openEngine(list string, threads int) (eng *sched.Engine, close func(), err error) {
	var devs []accel.Device
	close = func() {
		for _, d := range devs {
			d.Close()
		}
	}
	defer func() {
		if err != nil {
			close()
		}
	}()
	names := strings.Split(list, ",")
	for i, name := range names {
		if name != "cpu" {
			return nil, nil, usage("-devices: there is no device %q: there is cpu", name)
		}
		opts := []cpu.Option{cpu.ID(fmt.Sprint("cpu:", i))}
		if threads > 0 {
			opts = append(opts, cpu.Threads(threads))
		}
		d, err := cpu.Open(opts...)
		if err != nil {
			return nil, nil, err
		}
		devs = append(devs, d)
	}
	eng, err = sched.New(devs...)
	return eng, close, err
}

func devicesCommand(_ context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("devices", "[-json]", "Lists the devices that graphs can run on, and what each is.")
	asJSON := f.Bool("json", false, "print one JSON object a line")
	if err := parse(f, args, out, false); err != nil {
		return err
	}
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		return err
	}
	defer closeAll()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !*asJSON {
		fmt.Fprintln(w, "device\tname\tinstructions\tthreads\tkind")
	}
	for _, d := range eng.Devices() {
		info := d.Info()
		kind := "hardware"
		if info.Simulated {
			kind = "simulated"
		}
		if *asJSON {
			line := map[string]any{"device": d.ID(), "name": info.Name, "isa": info.ISA, "levels": cpu.Levels(), "threads": info.Threads, "simulated": info.Simulated}
			if err := json.NewEncoder(out).Encode(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s (of %s)\t%d\t%s\n", d.ID(), info.Name, info.ISA, strings.Join(cpu.Levels(), ", "), info.Threads, kind)
	}
	return w.Flush()
}
