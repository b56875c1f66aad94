package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/ops"
)

// Profile is where the time of some runs went: one entry for each step of the compiled programs, in the order of execution.
type Profile []ProfileStep

// ProfileStep is one step of a compiled program, which may compute several operations at once.
type ProfileStep struct {
	Ops    []string // the names of its operations
	Place  string   // the scope in which the first was recorded, a layer's name say; where there is none, the file and line that recorded it
	Kernel string   // what ran
	Device string   // where
	Time   time.Duration
	Cost   ops.Cost // the estimate for all its operations
}

// Profile calls run twice, and measures the second time: whatever it compiles is compiled then. The result is of all plans that run has used, each
// as it went the last time, on devices that can measure. Measuring changes no number; other users of the engine are measured too.
//
// A step of training is profiled by a run that makes one: a Step of a tape, or train.Fit with Config.Steps 1, which has the plans of validation
// too.
func (e *Engine) Profile(ctx context.Context, run func(context.Context) error) (Profile, error) {
	if run == nil {
		return nil, errors.New("sched: there is nothing to profile")
	}
	ctx = background.Or(ctx)
	if err := run(ctx); err != nil {
		return nil, err
	}
	known := e.Plans()
	var before uint64
	e.locked(func() { before = e.clock })
	for _, p := range known {
		p.SetProfile(true)
		defer p.SetProfile(false)
	}
	if err := run(ctx); err != nil {
		return nil, err
	}
	slices.Reverse(known) // the order of first use
	var all Profile
	for _, p := range known {
		var used uint64
		e.locked(func() { used = p.used })
		if used > before {
			all = append(all, p.profile()...)
		}
	}
	return all, nil
}

// profile is the last measured run.
func (p *Plan) profile() (all Profile) {
	for _, q := range p.pieces {
		m, ok := q.prog.(accel.Profiler)
		if !ok {
			continue
		}
		for _, s := range m.Profile() {
			step := ProfileStep{Kernel: s.Kernel, Device: p.e.devs[q.dev].ID(), Time: s.Time, Cost: s.Cost}
			for i, n := range s.Nodes {
				step.Ops = append(step.Ops, q.graph.Nodes[n].Op.Name())
				if i == 0 {
					step.Place = p.places[q.nodes[n]]
				}
			}
			all = append(all, step)
		}
	}
	return all
}

// placesOf says of each canonical node where it was recorded: strings, since the nodes themselves would keep a whole recording alive.
func placesOf(origin []*ops.Node) []string {
	places := make([]string, len(origin))
	for i, n := range origin {
		places[i] = cmp.Or(n.Path(), n.Site())
	}
	return places
}

// ProfileRow is some steps of a profile together.
type ProfileRow struct {
	Name  string
	Count int // steps
	Time  time.Duration
	Share float64 // of the time of all steps, from 0 to 1
	Cost  ops.Cost
}

// ProfileTable is a profile in parts, the longest first. As text it is a table for people.
type ProfileTable []ProfileRow

// ByOp adds up the steps that compute the same operations, each of which a name has once: "matmul+add+relu".
func (p Profile) ByOp() ProfileTable {
	return p.table(func(s ProfileStep) string {
		const most = 4 // a chain of elementwise operations can have dozens
		var names []string
		for _, n := range s.Ops {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		if more := len(names) - most; more > 0 {
			names = append(names[:most], fmt.Sprintf("%d more", more))
		}
		return strings.Join(names, "+")
	})
}

// ByPlace adds up the steps of the same Place: of a layer, forward and backward.
func (p Profile) ByPlace() ProfileTable {
	return p.table(func(s ProfileStep) string { return s.Place })
}

// ByKernel adds up the steps of the same kernel.
func (p Profile) ByKernel() ProfileTable {
	return p.table(func(s ProfileStep) string { return s.Kernel })
}

func (p Profile) table(name func(ProfileStep) string) (t ProfileTable) {
	at := map[string]int{}
	var total time.Duration
	for _, s := range p {
		n := name(s)
		i, known := at[n]
		if !known {
			i = len(t)
			at[n] = i
			t = append(t, ProfileRow{Name: n})
		}
		r := &t[i]
		r.Count++
		r.Time += s.Time
		r.Cost.FLOPs += s.Cost.FLOPs
		r.Cost.Bytes += s.Cost.Bytes
		total += s.Time
	}
	for i := range t {
		t[i].Share = float64(t[i].Time) / float64(max(total, 1))
	}
	slices.SortStableFunc(t, func(a, b ProfileRow) int { return cmp.Compare(b.Time, a.Time) })
	return t
}

// Total is all rows together.
func (t ProfileTable) Total() ProfileRow {
	all := ProfileRow{Name: "all"}
	for _, r := range t {
		all.Count += r.Count
		all.Time += r.Time
		all.Share += r.Share
		all.Cost.FLOPs += r.Cost.FLOPs
		all.Cost.Bytes += r.Cost.Bytes
	}
	return all
}

// String is the table with a line for each row and one for all: how often, how long, which share, and how fast by the estimates of work and of
// bytes.
func (t ProfileTable) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "what\tcount\ttime\tshare\tGFLOP/s\tGB/s\n")
	for _, r := range append(slices.Clone(t), t.Total()) {
		ns := float64(max(r.Time.Nanoseconds(), 1))
		fmt.Fprintf(w, "%s\t%d\t%.3f ms\t%.1f %%\t%.1f\t%.1f\n", r.Name, r.Count, ns/1e6, 100*r.Share, r.Cost.FLOPs/ns, r.Cost.Bytes/ns)
	}
	w.Flush() // a Builder takes everything
	return b.String()
}
