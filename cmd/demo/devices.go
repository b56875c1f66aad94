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

// openEngine opens the devices of a list such as "cpu" or "cpu,cpu", each with so many threads; 0 means as many as the process may use.
func openEngine(list string, threads int) (eng *sched.Engine, closeAll func(), err error) {
	var devs []accel.Device
	closeDevices := func() {
		for _, d := range devs {
			d.Close()
		}
	}
	for i, name := range strings.Split(list, ",") {
		d, err := openDevice(name, i, threads)
		if err != nil {
			closeDevices()
			return nil, nil, err
		}
		devs = append(devs, d)
	}
	eng, err = sched.New(devs...)
	if err != nil {
		closeDevices()
		return nil, nil, err
	}
	return eng, func() { eng.Close(); closeDevices() }, nil
}

// openDevice opens device number i.
func openDevice(name string, i, threads int) (accel.Device, error) {
	if name != "cpu" {
		return nil, usage("-devices: there is no device %q: there is cpu", name)
	}
	opts := []cpu.Option{cpu.ID(fmt.Sprint("cpu:", i))}
	if threads > 0 {
		opts = append(opts, cpu.Threads(threads))
	}
	return cpu.Open(opts...)
}

// deviceLine is a line of -json.
type deviceLine struct {
	Device    string   `json:"device"`
	Name      string   `json:"name"`
	ISA       string   `json:"isa"`
	Levels    []string `json:"levels"` // that it has; isa is the one in use
	Threads   int      `json:"threads"`
	Memory    int64    `json:"memory"` // in bytes; 0 if that is not known
	Simulated bool     `json:"simulated"`
}

func devicesCommand(_ context.Context, args []string, out io.Writer) error {
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
		fmt.Fprintln(w, "device\tname\tinstructions\tthreads\tmemory\tkind")
	}
	for _, d := range eng.Devices() {
		info := d.Info()
		if *asJSON {
			if err := json.NewEncoder(out).Encode(deviceLine{d.ID(), info.Name, info.ISA, cpu.Levels(), info.Threads, info.Memory, info.Simulated}); err != nil {
				return err
			}
			continue
		}
		kind := "hardware"
		if info.Simulated {
			kind = "simulated"
		}
		memory := "unknown"
		if info.Memory > 0 {
			memory = fmt.Sprintf("%.1f GB", float64(info.Memory)/1e9)
		}
		fmt.Fprintf(w, "%s\t%s\t%s (it has %s)\t%d\t%s\t%s\n", d.ID(), info.Name, info.ISA, strings.Join(cpu.Levels(), ", "), info.Threads, memory, kind)
	}
	return w.Flush()
}
