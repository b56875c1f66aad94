package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/tensor"
)

func benchCommand(ctx context.Context, args []string, out io.Writer) error {
	f := newFlags("bench", "-workload W [flags]", "Measures a workload: "+strings.Join(workloadNames(), ", ")+".\ngemm-N multiplies two matrices N x N; mlp-B, cnn-B and resnet18-B are training steps on a batch of B; lstm\nand gpt are such steps too; adamw is one update of 4 M numbers; relu, add, exp, softmax and layernorm work on 16 M numbers; peak is what the machine can do at best. Prints the median of as many runs as fit into the time.")
	workload := f.String("workload", "", "what to measure")
	threads := f.Int("threads", 0, "workers; 0 means one for each processor that this process may use")
	precision := f.String("precision", "f32", "element type: f32, f64, bf16 or f16; peak has f32 only")
	seconds := f.Float64("seconds", 3, "how long to measure")
	asJSON := f.Bool("json", false, "print a JSON object")
	profile := f.Bool("profile", false, "print where the time of one run goes")
	if err := parse(f, args, out, false); err != nil {
		return err
	}
	dt, ok := map[string]tensor.DType{"f32": tensor.F32, "f64": tensor.F64, "bf16": tensor.BF16, "f16": tensor.F16}[*precision]
	switch {
	case *workload == "":
		return usage("bench: which -workload? There are %s", strings.Join(workloadNames(), ", "))
	case !ok:
		return usage("-precision %q: want f32, f64, bf16 or f16", *precision)
	case *threads < 0 || *threads > 1024:
		return usage("-threads %d: want 1 to 1024", *threads)
	case !(*seconds > 0 && *seconds <= 3600):
		return usage("-seconds %v: want a time of at most an hour", *seconds)
	case *profile && *asJSON:
		return usage("-profile prints lines for people: leave -json out")
	case *workload == "peak" && (*profile || dt != tensor.F32):
		return usage("-workload peak has neither -profile nor another -precision than f32")
	}
	if *workload == "peak" {
		return peak(ctx, *threads, *seconds, *asJSON, out)
	}
	eng, closeAll, err := openEngine("cpu", *threads)
	if err != nil {
		return err
	}
	defer closeAll()
	eng.NoFallback = true
	w, err := workloadOf(*workload, dt, eng)
	if err != nil {
		return err
	}
	m, err := measure(ctx, w.run, *seconds)
	if err != nil {
		return err
	}
	info := eng.Devices()[0].Info()
	if *asJSON {
		if err := json.NewEncoder(out).Encode(map[string]any{
			"workload": *workload, "threads": info.Threads, "precision": *precision, "ms": m.median * 1e3, "best_ms": m.best * 1e3,
			w.unit: w.work / m.median * 1e-9, "steps": m.n, "isa": info.ISA, "cpu": info.Name,
		}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "%s %s, %d threads of %s, %s: %.3f ms (best %.3f), %.1f %s, median of %d\n",
			*workload, *precision, info.Threads, info.Name, info.ISA, m.median*1e3, m.best*1e3, w.work/m.median*1e-9, strings.ToUpper(w.unit[:1])+w.unit[1:], m.n)
	}
	if !*profile {
		return nil
	}
	plan := eng.Plans()[0]
	plan.SetProfile(true)
	for range 2 {
		if err := w.run(ctx); err != nil {
			return err
		}
	}
	for _, s := range plan.Profile() {
		ns := float64(max(s.Time.Nanoseconds(), 1))
		fmt.Fprintf(out, "%10.1f us %8.1f GFLOP/s %8.1f GB/s  %s %v\n", ns/1e3, s.Cost.FLOPs/ns, s.Cost.Bytes/ns, s.Kernel, s.Nodes)
	}
	return nil
}

// timing is what measure finds, in seconds.
type timing struct {
	median, best float64
	n            int
}

// measure runs f for about that long, at least five times, after two runs that do not count.
func measure(ctx context.Context, f func(context.Context) error, seconds float64) (timing, error) {
	for range 2 {
		if err := f(ctx); err != nil {
			return timing{}, err
		}
	}
	var ts []float64
	for start := time.Now(); time.Since(start).Seconds() < seconds || len(ts) < 5; {
		t := time.Now()
		if err := f(ctx); err != nil {
			return timing{}, err
		}
		ts = append(ts, time.Since(t).Seconds())
	}
	slices.Sort(ts)
	return timing{ts[len(ts)/2], ts[0], len(ts)}, nil
}

// peak prints what the machine can do.
func peak(ctx context.Context, threads int, seconds float64, asJSON bool, out io.Writer) error {
	var opts []cpu.Option
	if threads > 0 {
		opts = append(opts, cpu.Threads(threads))
	}
	d, err := cpu.Open(opts...)
	if err != nil {
		return err
	}
	defer d.Close()
	info := d.Info()
	p, err := d.Peak(ctx, time.Duration(seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]any{
			"workload": "peak", "threads": info.Threads, "isa": info.ISA, "cpu": info.Name, "seconds": seconds,
			"fma_gflops": p.FMA, "loaded_fma_gflops": p.LoadedFMA, "triad_gbps": p.Triad, "triad_stream_gbps": p.TriadStream, "map_gbps": p.Map, "map_stream_gbps": p.MapStream,
		})
	}
	fmt.Fprintf(out, `%d threads of %s, %s:
  multiply-adds from registers   %8.1f GFLOP/s
  multiply-adds with loads       %8.1f GFLOP/s   (12 beside 8 loads from L1, as in a matrix product: what a kernel is judged by)
  triad a = b + s*c              %8.1f GB/s      with streaming stores %.1f
  map a = f(b)                   %8.1f GB/s      with streaming stores %.1f
`, info.Threads, info.Name, info.ISA, p.FMA, p.LoadedFMA, p.Triad, p.TriadStream, p.Map, p.MapStream)
	return nil
}
