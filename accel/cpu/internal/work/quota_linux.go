package work

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// quota returns how many processors the control groups of this process grant, rounded up.
func quota() int { return quotaIn(os.DirFS("/")) }

func quotaIn(root fs.FS) int {
	limit := lowest(root, "cpu", groupQuota)
	if limit > math.MaxInt32 {
		return math.MaxInt
	}
	return int(math.Ceil(limit))
}

// Memory returns how many bytes this process may hold: those of the machine, or
// what its control groups leave it. 0 means unknown.
func Memory() int64 { return memoryIn(os.DirFS("/")) }

func memoryIn(root fs.FS) int64 {
	limit := lowest(root, "memory", groupMemory)
	info, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(info)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			limit = min(limit, 1024*ratio(f[1], "1"))
		}
	}
	if limit > math.MaxInt64/2 {
		return 0
	}
	return int64(limit)
}

// lowest returns the lowest limit of a controller in /proc and the control
// groups below root, of those that read finds. What is missing or cannot be
// read limits nothing.
func lowest(root fs.FS, controller string, read func(root fs.FS, dir string) float64) float64 {
	limit := math.Inf(1)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return limit
	}
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path, with no controllers in version 2.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		two := f[0] == "0" && f[1] == ""
		if !two && !listed(f[1], controller) {
			continue
		}
		mount, top, ok := mountOf(root, two, controller)
		if !ok {
			continue
		}
		// Every ancestor limits, too.
		for dir := strings.TrimPrefix(f[2], top); ; dir = path.Dir(dir) {
			limit = min(limit, read(root, path.Join(mount, dir)))
			if dir == "" || dir == "/" || dir == "." {
				break
			}
		}
	}
	return limit
}

// mountOf finds where the control groups of version 2, or those of the
// controller, are mounted, and which group is at its top.
func mountOf(root fs.FS, two bool, controller string) (mount, top string, ok bool) {
	text, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return "", "", false
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		// id parent device root mount options [fields] - type source options
		before, after, found := strings.Cut(s.Text(), " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		if !found || len(b) < 5 || len(a) < 3 {
			continue
		}
		if two && a[0] == "cgroup2" || !two && a[0] == "cgroup" && listed(a[2], controller) {
			return strings.TrimPrefix(b[4], "/"), strings.TrimSuffix(b[3], "/"), true
		}
	}
	return "", "", false
}

// groupMemory returns the bytes that one group grants. Without a limit version
// 2 says max, and version 1 a number beyond all memories.
func groupMemory(root fs.FS, dir string) float64 {
	for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
		if text, err := fs.ReadFile(root, path.Join(dir, name)); err == nil {
			return ratio(strings.TrimSpace(string(text)), "1")
		}
	}
	return math.Inf(1)
}

// groupQuota returns the processors that one group grants.
func groupQuota(root fs.FS, dir string) float64 {
	if text, err := fs.ReadFile(root, path.Join(dir, "cpu.max")); err == nil { // version 2
		f := strings.Fields(string(text))
		if len(f) == 2 {
			return ratio(f[0], f[1])
		}
	}
	q, err1 := fs.ReadFile(root, path.Join(dir, "cpu.cfs_quota_us")) // version 1; -1 is no limit
	p, err2 := fs.ReadFile(root, path.Join(dir, "cpu.cfs_period_us"))
	if err1 == nil && err2 == nil {
		return ratio(strings.TrimSpace(string(q)), strings.TrimSpace(string(p)))
	}
	return math.Inf(1)
}

// ratio is quota/period, or infinity if they are not two positive numbers.
func ratio(quota, period string) float64 {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return math.Inf(1)
	}
	return q / p
}

func listed(list, name string) bool {
	for s := range strings.SplitSeq(list, ",") {
		if s == name {
			return true
		}
	}
	return false
}
