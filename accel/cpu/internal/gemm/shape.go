package gemm

import (
	"errors"
	"fmt"
	"math"
)

// Float is a type of matrix values.
type Float interface{ float32 | float64 }

// Shape describes a product C = A*B, or many of one shape. All matrices are
// stored by rows.
type Shape struct {
	M, N, K        int     // A is M x K, B is K x N, C is M x N
	TransA, TransB bool    // A is stored as K x M, B as N x K
	LDA, LDB, LDC  int     // values from one stored row to the next; 0 if rows follow each other
	Batch          []Batch // products of the same shape, outermost axis first; none means one product

	// What happens to the sum, in this order.
	Add  bool // add what C holds; else C is not read
	Bias bool // add a value to each column
	ReLU bool // replace values below zero by zero; a NaN stays
}

// Batch is an axis of products.
type Batch struct {
	N       int
	A, B, C int // values from one product's matrix to the next; 0 for A or B that all share
}

// dense returns the shape with each LD set.
func (s Shape) dense() Shape {
	set := func(ld *int, trans bool, rows, cols int) {
		if trans {
			cols = rows
		}
		if *ld == 0 {
			*ld = cols
		}
	}
	set(&s.LDA, s.TransA, s.M, s.K)
	set(&s.LDB, s.TransB, s.K, s.N)
	set(&s.LDC, false, s.M, s.N)
	return s
}

// products returns the number of products in the batch.
func (s Shape) products() int {
	n := 1
	for _, b := range s.Batch {
		n *= b.N
	}
	return n
}

// offsets returns where the matrices of one product start.
func (s Shape) offsets(product int) (a, b, c int) {
	for i := len(s.Batch) - 1; i >= 0; i-- {
		x := s.Batch[i]
		at := product % x.N
		product /= x.N
		a, b, c = a+at*x.A, b+at*x.B, c+at*x.C
	}
	return a, b, c
}

// lens returns how many values A, B and C need.
func (s Shape) lens() (a, b, c int) {
	if s.products() == 0 {
		return 0, 0, 0
	}
	size := func(trans bool, rows, cols, ld int) int {
		if trans {
			rows, cols = cols, rows
		}
		if rows == 0 || cols == 0 {
			return 0
		}
		return (rows-1)*ld + cols
	}
	a, b, c = size(s.TransA, s.M, s.K, s.LDA), size(s.TransB, s.K, s.N, s.LDB), size(false, s.M, s.N, s.LDC)
	lastA, lastB, lastC := s.offsets(s.products() - 1)
	extend := func(n, last int) int {
		if n == 0 {
			return 0
		}
		return n + last
	}
	return extend(a, lastA), extend(b, lastB), extend(c, lastC)
}

// check returns an error for what no memory could hold. LDs are set.
func (s Shape) check() error {
	if s.M < 0 || s.N < 0 || s.K < 0 {
		return fmt.Errorf("gemm: negative size in %d x %d x %d", s.M, s.N, s.K)
	}
	for _, x := range []struct {
		name  string
		ld, n int
		trans bool
		rows  int
	}{{"A", s.LDA, s.K, s.TransA, s.M}, {"B", s.LDB, s.N, s.TransB, s.K}, {"C", s.LDC, s.N, false, s.M}} {
		need := x.n
		if x.trans {
			need = x.rows
		}
		if x.ld < need {
			return fmt.Errorf("gemm: rows of %s are %d values apart but hold %d", x.name, x.ld, need)
		}
	}
	work := float64(max(s.M, 1)) * float64(max(s.N, 1)) * float64(max(s.K, 1))
	for _, b := range s.Batch {
		if b.N < 0 || b.A < 0 || b.B < 0 || b.C < 0 {
			return fmt.Errorf("gemm: negative batch %+v", b)
		}
		if b.N > 1 && b.C == 0 {
			return errors.New("gemm: products of a batch share one C")
		}
		work *= float64(max(b.N, 1))
	}
	if work > math.MaxInt64/16 {
		return fmt.Errorf("gemm: %d x %d x %d is too large", s.M, s.N, s.K)
	}
	return nil
}
