package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// run is one run of a graph.
type run struct {
	*Engine
	*binding
	feeds []tensor.Tensor
	rng   tensor.Tensor
	res   *ops.Results

	// Of a run of several pieces:
	values  []accel.Buffer // per slot
	copies  []accel.Buffer // per slot and device: a value is transferred once to each
	started []*piece
}

// prepare makes res fit the plan.
func (r *run) prepare() {
	n := r.results()
	bufs := r.res.Bufs
	for len(bufs) < n {
		bufs = append(bufs, nil)
	}
	for i, s := range bufs[n:] {
		if s != nil {
			s.Free()
			bufs[n+i] = nil
		}
	}
	r.res.Bufs, r.res.Explain = bufs[:n], r.explain
}

// one runs a plan of one piece.
func (r *run) one(ctx context.Context) error {
	q := r.pieces[0]
	if err := r.fill(ctx, q); err != nil {
		return err
	}
	if err := q.prog.Run(ctx, q.args, q.outs, &r.res.Done); err != nil {
		r.takeBack(q)
		return r.place(err)
	}
	r.touch()
	r.collect(q)
	return nil
}

// touch makes copies of the assigned variables old.
func (r *run) touch() {
	for _, p := range r.assigns {
		r.vars[p].Touch()
	}
}

// collect takes the outputs of a piece that has started.
func (r *run) collect(q *piece) {
	for j, t := range q.dst {
		if t.result >= 0 {
			r.res.Bufs[t.result] = q.outs[j]
		}
		if t.slot >= 0 {
			r.values[t.slot] = q.outs[j]
		}
	}
	clear(q.outs)
	clear(q.args)
}

// takeBack keeps the result buffers that were offered to a piece that did not start.
func (r *run) takeBack(q *piece) {
	for j, t := range q.dst {
		if t.result >= 0 && q.outs[j] != nil {
			r.res.Bufs[t.result] = q.outs[j]
		}
	}
	clear(q.outs)
	clear(q.args)
}

// several runs the pieces in order, and the commit when all that can fail has finished.
func (r *run) several(ctx context.Context) error {
	r.values = make([]accel.Buffer, len(r.slots))
	r.copies = make([]accel.Buffer, len(r.slots)*len(r.devs))
	defer r.release()
	start := func(ctx context.Context, q *piece) error {
		if err := r.fill(ctx, q); err != nil {
			return err
		}
		if err := q.prog.Run(ctx, q.args, q.outs, q.ev); err != nil {
			r.takeBack(q)
			return r.placeIn(q, err)
		}
		r.started = append(r.started, q)
		r.collect(q)
		return nil
	}
	// What is assigned comes home before any piece takes its arguments: one that has the old home among them would find it freed.
	for _, p := range r.assigns {
		if _, err := r.resident(ctx, r.vars[p], r.nodes[p].dev, true); err != nil {
			return err
		}
	}
	for _, q := range r.pieces {
		if q.commit {
			continue
		}
		if err := start(ctx, q); err != nil {
			return cmp.Or(r.settle(ctx), err)
		}
	}
	for _, q := range r.pieces { // transfers for the commit can fail too
		if !q.commit {
			continue
		}
		if err := r.fill(ctx, q); err != nil {
			return cmp.Or(r.settle(ctx), err)
		}
	}
	if err := r.settle(ctx); err != nil {
		for _, q := range r.pieces {
			if q.commit {
				r.takeBack(q)
			}
		}
		return err
	}
	return r.commit(context.WithoutCancel(ctx))
}

// commit starts the last pieces. Every fallible node of every device is over; what fails now tears the state apart.
func (r *run) commit(ctx context.Context) (err error) {
	r.touch()
	first := len(r.started)
	for _, q := range r.pieces {
		if !q.commit {
			continue
		}
		if e := q.prog.Run(ctx, q.args, q.outs, q.ev); e != nil {
			err = errors.Join(err, r.placeIn(q, e))
			continue
		}
		r.started = append(r.started, q)
		r.collect(q)
	}
	for _, q := range r.started[first:] {
		if e := q.ev.Wait(ctx); e != nil {
			err = errors.Join(err, r.placeIn(q, e))
		}
	}
	if err != nil {
		err = fmt.Errorf("sched: %w: %w", ops.ErrStateLost, err)
		for _, p := range r.assigns {
			r.vars[p].Lose(err)
		}
		return err
	}
	r.res.Done.Reset()
	r.res.Done.Finish(nil)
	return nil
}

// settle waits for the started pieces. The first cause is in the earliest.
func (r *run) settle(ctx context.Context) error {
	for _, q := range r.started {
		if err := q.ev.Wait(ctx); err != nil {
			return r.placeIn(q, err)
		}
	}
	return nil
}

// release frees what the engine owns of this run.
func (r *run) release() {
	owned := map[accel.Buffer]bool{}
	for _, b := range r.res.Bufs {
		if b != nil {
			owned[b.(accel.Buffer)] = true
		}
	}
	for _, list := range [][]accel.Buffer{r.values, r.copies} {
		for _, b := range list {
			if b != nil && !owned[b] {
				b.Free()
			}
		}
	}
	for _, q := range r.started { // an abandoned run still owns its event
		if !q.ev.Finished() {
			q.ev = new(ops.Event)
		}
	}
}

// fill sets a piece's arguments and offers old result buffers.
func (r *run) fill(ctx context.Context, q *piece) error {
	for i, s := range q.src {
		a := &q.args[i]
		*a = accel.Arg{}
		var err error
		switch {
		case s.slot >= 0:
			a.Buf, err = r.crossed(ctx, s.slot, q.dev)
		case r.nodes[s.param].kind == ops.Feed:
			a.Host = r.feeds[r.binding.feeds[s.param]]
		case r.nodes[s.param].kind == ops.RNG:
			a.Host = r.rng
		default:
			write := r.writes[s.param] && r.nodes[s.param].dev == q.dev
			a.Buf, err = r.resident(ctx, r.vars[s.param], q.dev, write)
		}
		if err != nil {
			return r.place(err)
		}
	}
	for j, t := range q.dst {
		q.outs[j] = nil
		if t.result < 0 {
			continue
		}
		old, ok := r.res.Bufs[t.result].(accel.Buffer)
		if !ok {
			continue
		}
		r.res.Bufs[t.result] = nil
		if x := q.graph.Outs[j]; old.Device() == r.devs[q.dev] && old.Spec() == q.graph.Nodes[x.Node].Out[x.Out] {
			q.outs[j] = old
		} else {
			old.Free()
		}
	}
	return nil
}

// crossed is the value of a slot on a device.
func (r *run) crossed(ctx context.Context, slot, dev int) (accel.Buffer, error) {
	from := r.values[slot]
	if from.Device() == r.devs[dev] {
		return from, nil
	}
	at := slot*len(r.devs) + dev
	if r.copies[at] == nil {
		b, err := transfer(ctx, from, r.devs[dev])
		if err != nil {
			return nil, err
		}
		r.stats.Transfers++
		r.copies[at] = b
	}
	return r.copies[at], nil
}

// transfer copies a value to another device, by way of the host.
func transfer(ctx context.Context, from ops.Storage, to accel.Device) (accel.Buffer, error) {
	t := tensor.New(from.Spec())
	if err := from.Download(ctx, t); err != nil {
		return nil, err
	}
	return to.Upload(ctx, t)
}
