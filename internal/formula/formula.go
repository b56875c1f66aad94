package formula

// Fill sets dst[i] to scale * (z>>40 / 2^24 - 1/2), where z is element i of the stream: evenly spread over
// [-scale/2, scale/2), in steps of scale/2^24. With a power of two as scale, every value is exact in float32 as well.
func Fill(dst []float64, seed uint64, scale float64) {
	for i := range dst {
		dst[i] = scale * (float64(element(seed, i)>>40)/(1<<24) - 0.5)
	}
}

// Labels sets dst[i] to z>>40 modulo classes, where z is element i of the stream: class numbers from 0 to classes-1.
// classes must be positive.
func Labels(dst []int64, seed uint64, classes int) {
	for i := range dst {
		dst[i] = int64(element(seed, i)>>40) % int64(classes)
	}
}

// element is output i of SplitMix64 from the state seed.
func element(seed uint64, i int) uint64 {
	z := seed + (uint64(i)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
