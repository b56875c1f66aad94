// Package formula generates numbers that a program in another language can generate too, bit for bit.
//
// The goldens in testdata/goldens come from PyTorch. They need its very weights and inputs, and a formula is smaller
// than a file and easier to read. Everything is integer arithmetic until one exact conversion, so Go and Python agree
// on every bit. The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014): element i of stream seed is
//
//	z = seed + (i+1)*0x9e3779b97f4a7c15        (all modulo 2^64)
//	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
//	z = (z ^ z>>27) * 0x94d049bb133111eb
//	z =  z ^ z>>31
//
// It is for tests and goldens only: training draws from Philox. Any package may import it; it imports nothing.
package formula
