package contract

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// procs sets GOMAXPROCS until the test ends.
func procs(t testing.TB, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// width is a matrix that is worth several workers on a processor, and not too slow by reference.
func (r *rig) width() int {
	if r.kind.name == "cpu" {
		return 96
	}
	return 8
}

// Nested parallel work does not deadlock: operations of a user run whole steps on another device while four goroutines train on the first,
// a thousand steps at each of several GOMAXPROCS. Engines that wait for a free worker while they hold one stop here.
func Test21Nested(t *testing.T) {
	for _, p := range []int{1, 2, 4} {
		t.Run(fmt.Sprint("GOMAXPROCS ", p), func(t *testing.T) {
			procs(t, p) // before the devices are opened
			onEach(t, 1, func(r *rig) {
				inner := newRig(r.TB, r.kind, 1)
				n := r.width()
				square := formula(tensor.F32, 1, n, n)
				nested := newHook(func(tensor.Tensor) error {
					tape := inner.tape()
					x := tape.Input("x", square)
					_, err := tape.Eval(ctx, x.MatMul(x).Sum())
					return err
				})
				var wg sync.WaitGroup
				for range 4 {
					w := ops.NewVariable("w", formula(tensor.F32, 2, n, n))
					wg.Go(func() {
						tape := r.tape()
						for k := range 250 {
							h := tape.Input("x", square).MatMul(tape.Var(w)).ReLU()
							if k%4 == 0 {
								h = ops.Apply(nested, h)
							}
							loss := h.Mul(h).Mean()
							tape.Assign(w, tape.Var(w).Sub(tape.Grad(loss, tape.Var(w))[0]))
							if _, err := try(tape, loss); err != nil {
								r.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		})
	}
}

// A thousand goroutines, each with a tape of its own, multiply and predict on one engine: right values, few programs, bounded memory.
func TestManyCallers(t *testing.T) {
	for _, p := range []int{2, 256} {
		t.Run(fmt.Sprint("GOMAXPROCS ", p), func(t *testing.T) {
			procs(t, p)
			onEach(t, 1, func(r *rig) {
				n := min(r.width(), 64)
				model := newNet(tensor.F32, n, 16, 3)
				call := func(k int) ([]float64, error) {
					tape := r.tape()
					x := tape.Input("x", formula(tensor.F32, k%4, n, n))
					product, err := tape.Eval(ctx, x.MatMul(x))
					if err != nil {
						return nil, err
					}
					classes, err := tape.Eval(ctx, model.forward(tape, x, false))
					if err != nil {
						return nil, err
					}
					return append(product[0].Floats(), classes[0].Floats()...), nil
				}
				var want [4][]float64
				for k := range want {
					var err error
					if want[k], err = call(k); err != nil {
						r.Fatal(err)
					}
				}
				const callers = 1024
				var wg sync.WaitGroup
				for k := range callers {
					wg.Go(func() {
						got, err := call(k)
						if err != nil {
							r.Error(err)
							return
						}
						for i := range got {
							if got[i] != want[k%4][i] {
								r.Errorf("caller %d: element %d is %v, want %v", k, i, got[i], want[k%4][i])
								return
							}
						}
					})
				}
				wg.Wait()
				if c := r.compiles(); c != 2 {
					r.Errorf("%d compiles for 2 programs", c)
				}
				if l := r.live(); l > 2*callers+16 {
					r.Errorf("%d buffers for %d callers", l, callers)
				}
			})
		})
	}
}

// One engine, many tapes that train the same variables: every step counts, whatever the order.
func TestManyTrainers(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		w := ops.NewVariable("w", f64(0, 0))
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				tape := autograd.New(r.eng)
				for range 25 {
					tape.Assign(w, tape.Var(w).Add(tape.Input("x", f64(1, -1))))
					if _, err := try(tape); err != nil {
						r.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		r.equal("counted", r.value(w), []float64{400, -400})
	})
}
