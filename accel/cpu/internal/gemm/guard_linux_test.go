package gemm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guardedMemory returns n values; what comes after them faults.
func guardedMemory[T Float](t *testing.T, n int) []T {
	page := unix.Getpagesize()
	bytes := n * size[T]()
	pages := ceil(bytes, page) * page
	m, err := unix.Mmap(-1, 0, pages+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	if err := unix.Mprotect(m[pages:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&m[pages-bytes])), n)
}
