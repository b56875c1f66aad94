package isa

import "golang.org/x/sys/unix"

// allowTiles asks Linux for the permission to use AMX tiles, which a process
// needs because its signal frames and context switches grow by their 8 KB.
func allowTiles() bool {
	const (
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData          = 18     // XFEATURE_XTILEDATA
	)
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
