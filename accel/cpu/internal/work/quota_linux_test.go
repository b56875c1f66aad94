package work

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestQuota(t *testing.T) {
	const (
		two = "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
		one = "30 24 0:27 /docker/x /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  int
	}{
		"no proc": {nil, math.MaxInt},
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": two, "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 2},
		"parent": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": two, "sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, 1},
		"top": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": two, "sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3},
		"no limit": {map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": two, "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, math.MaxInt},
		"nonsense": {map[string]string{
			"proc/self/cgroup": "0::/a\nx\n", "proc/self/mountinfo": "y\n" + two, "sys/fs/cgroup/a/cpu.max": "1 0\n"}, math.MaxInt},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n", "proc/self/mountinfo": one,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, 3},
		"version 1, no limit": {map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/docker/x\n", "proc/self/mountinfo": one,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, math.MaxInt},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := quotaIn(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestMemory(t *testing.T) {
	const (
		info = "MemTotal:       1000 kB\nMemFree:  5 kB\n"
		two  = "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
		one  = "30 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no proc":  {nil, 0},
		"machine":  {map[string]string{"proc/meminfo": info}, 1024000},
		"nonsense": {map[string]string{"proc/meminfo": "MemTotal: x kB\n"}, 0},
		"version 2": {map[string]string{
			"proc/meminfo": info, "proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": two, "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "5000\n"}, 5000},
		"version 1": {map[string]string{
			"proc/meminfo": info, "proc/self/cgroup": "5:memory:/x\n", "proc/self/mountinfo": one, "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "6000\n"}, 6000},
		"version 1, no limit": {map[string]string{
			"proc/meminfo": info, "proc/self/cgroup": "5:memory:/x\n", "proc/self/mountinfo": one, "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n"}, 1024000},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryIn(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
