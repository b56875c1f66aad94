package ops

import (
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestProductsJoin: the gradient of a matrix that several steps multiply by is one product where that is cheaper, and the sum in any case.
func TestProductsJoin(t *testing.T) {
	for _, c := range []struct {
		name           string
		rows, in, out  int
		steps, product int // how many, and how many remain
	}{{"narrow steps", 2, 8, 16, 5, 1}, {"tall steps", 40, 3, 4, 5, 5}, {"one step", 2, 8, 16, 1, 1}} {
		r := NewRecorder()
		w := r.Input("w", ramp(1, c.out, c.in), -1)
		h := r.Input("h", ramp(2, c.rows, c.in), -1)
		back := r.Input("back", ramp(3, c.out, c.in), -1)
		loss := h.Sum()
		apart := Value{} // the same with a matrix of its own for each step
		var own []Value
		h2 := h
		for range c.steps {
			h = Linear(h, w, Value{}).MatMul(back).Tanh()
			loss = loss.Add(h.Square().Sum())
			v := w.Scale(1)
			own = append(own, v)
			h2 = Linear(h2, v, Value{}).MatMul(back).Tanh()
			if s := h2.Square().Sum(); apart.IsNone() {
				apart = s
			} else {
				apart = apart.Add(s)
			}
		}
		dw := r.Grad(loss, Value{}, w)[0]
		g, err := r.Graph(true, dw)
		if err != nil {
			t.Fatal(err)
		}
		live := map[uint32]bool{dw.id: true}
		products := 0
		for i := dw.id; ; i-- {
			if n := g.Nodes[i]; live[i] {
				for _, e := range n.In {
					live[e.Node] = true
				}
				if n.Op == (MatMulOp{TransA: true}) {
					products++
				}
			}
			if i == 0 {
				break
			}
		}
		if products != c.product {
			t.Errorf("%s: %d products, want %d", c.name, products, c.product)
		}
		var want Value
		for _, d := range r.Grad(apart, Value{}, own...) {
			if want.IsNone() {
				want = d
			} else {
				want = want.Add(d)
			}
		}
		got := eval(t, r, dw, want)
		if err := near(got[0], got[1], 1e-12); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestProductsBesideOthers: what does not come from a product of matrices is added.
func TestProductsBesideOthers(t *testing.T) {
	r := NewRecorder()
	w, x := r.Input("w", ramp(1, 9, 8), -1), r.Input("x", ramp(2, 2, 8), -1)
	y := Linear(x, w, Value{}).Sum().Add(w.Square().Sum()).Add(Linear(x.Scale(2), w, Value{}).Sum())
	got := eval(t, r, r.Grad(y, Value{}, w)[0])[0]
	want := tensor.New(got.Spec())
	xs, ws := ramp(2, 2, 8), ramp(1, 9, 8)
	for i := range want.Len() {
		want.Set(i, 3*(xs.At(i%8)+xs.At(8+i%8))+2*ws.At(i))
	}
	if err := near(got, want, 1e-12); err != nil {
		t.Error(err)
	}
}
