package audio

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/cortado-ml/cortado/tensor"
)

// Mel says how sound is cut into frames and its spectrum into bands. Rate is needed; where another field is 0 it is as its comment says.
type Mel struct {
	Rate   int     // samples in a second, of what the features are computed from
	Window int     // samples in a frame; 0 is 25 ms
	Hop    int     // samples from a frame to the next; 0 is 10 ms
	FFT    int     // length of the Fourier transform; 0 is the first power of two from Window on
	Bands  int     // 0 is 40
	Low    float64 // Hz, where the lowest band begins
	High   float64 // Hz, where the highest ends; 0 is half of Rate
}

// withDefaults fills in what is 0, and refuses what cannot be.
func (m Mel) withDefaults() (Mel, error) {
	if m.Rate < 1 || m.Rate > math.MaxInt32 {
		return m, fmt.Errorf("audio: %d samples a second", m.Rate)
	}
	if m.Window == 0 {
		m.Window = max(1, m.Rate/40)
	}
	if m.Hop == 0 {
		m.Hop = max(1, m.Rate/100)
	}
	if m.FFT == 0 {
		for m.FFT = 1; m.FFT < m.Window; m.FFT *= 2 {
		}
	}
	if m.Bands == 0 {
		m.Bands = 40
	}
	if m.High == 0 {
		m.High = float64(m.Rate) / 2
	}
	switch {
	case m.Window < 1 || m.Hop < 1:
		return m, fmt.Errorf("audio: frames of %d samples, %d apart", m.Window, m.Hop)
	case m.FFT < m.Window || m.FFT > maxFFT:
		return m, fmt.Errorf("audio: a Fourier transform of %d samples for frames of %d: at most %d are possible", m.FFT, m.Window, maxFFT)
	case m.Bands < 1 || m.Bands > m.FFT/2+1:
		return m, fmt.Errorf("audio: %d bands of a spectrum of %d points", m.Bands, m.FFT/2+1)
	case !(m.Low >= 0 && m.Low < m.High && m.High <= float64(m.Rate)/2):
		return m, fmt.Errorf("audio: bands from %v to %v Hz at %d samples a second", m.Low, m.High, m.Rate)
	}
	return m, nil
}

// maxFFT is the longest Fourier transform: 21 seconds at 48 kHz.
const maxFFT = 1 << 20

// Features turns samples into frames of numbers; NewLogMel and NewMFCC make it. Its methods may be called concurrently.
type Features struct {
	mel    Mel
	window []float64
	bands  []band
	dct    [][]float64 // [coefficients][bands]; nil for the bands themselves
	spare  sync.Pool   // of *work
}

// band is a triangle over the spectrum.
type band struct {
	first   int // point of the spectrum
	weights []float64
}

// work is the memory that one frame needs.
type work struct {
	fft      *fourier.FFT
	frame    []float64
	spectrum []complex128
	bands    []float64
}

// NewLogMel gives the logarithms of the energy in bands, as most networks hear. A frame x of Window samples becomes
//
//	X = the Fourier transform, of length FFT, of x[i] (0.5 - 0.5 cos(2πi/Window)), 0 behind Window
//	out[b] = ln max(1e-10, Σ_k |X[k]|² w_b(k Rate/FFT))
//
// where w_b is the triangle, 1 at its peak, from point b to b+2 of Bands+2 points in Hz that are evenly spaced, from Low to High, on the mel scale
// 2595 log10(1 + f/700). (Source: S. Davis and P. Mermelstein, 1980; S. Young et al., "The HTK Book", for the scale.)
func NewLogMel(m Mel) (*Features, error) {
	m, err := m.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Features{mel: m, window: make([]float64, m.Window)}
	for i := range f.window {
		f.window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(m.Window))
	}
	for b := range m.Bands {
		t := m.triangle(b)
		if len(t.weights) == 0 {
			return nil, fmt.Errorf("audio: band %d of %d would have no point of the spectrum: take fewer bands or a longer FFT than %d", b, m.Bands, m.FFT)
		}
		f.bands = append(f.bands, t)
	}
	f.spare.New = func() any {
		return &work{fourier.NewFFT(m.FFT), make([]float64, m.FFT), make([]complex128, m.FFT/2+1), make([]float64, m.Bands)}
	}
	return f, nil
}

// point is the frequency of one of the Bands+2 points.
func (m Mel) point(i int) float64 {
	low, high := 2595*math.Log10(1+m.Low/700), 2595*math.Log10(1+m.High/700)
	return 700 * (math.Pow(10, (low+(high-low)*float64(i)/float64(m.Bands+1))/2595) - 1)
}

// triangle is band b.
func (m Mel) triangle(b int) band {
	low, peak, high := m.point(b), m.point(b+1), m.point(b+2)
	var t band
	for k := range m.FFT/2 + 1 {
		f := float64(k) * float64(m.Rate) / float64(m.FFT)
		w := min((f-low)/(peak-low), (high-f)/(high-peak))
		if w <= 0 {
			continue
		}
		if t.weights == nil {
			t.first = k
		}
		t.weights = append(t.weights, w)
	}
	return t
}

// NewMFCC gives the first coefficients, at most Bands, of the cosine transform of what NewLogMel gives:
//
//	out[c] = s_c Σ_b logmel[b] cos(πc(b + 1/2)/Bands),   s_0 = sqrt(1/Bands), else s_c = sqrt(2/Bands)
//
// (the orthonormal DCT-II, without liftering).
func NewMFCC(m Mel, coefficients int) (*Features, error) {
	f, err := NewLogMel(m)
	if err != nil {
		return nil, err
	}
	n := f.mel.Bands
	if coefficients < 1 || coefficients > n {
		return nil, fmt.Errorf("audio: %d coefficients of %d bands", coefficients, n)
	}
	f.dct = make([][]float64, coefficients)
	for c := range f.dct {
		scale := math.Sqrt(2 / float64(n))
		if c == 0 {
			scale = math.Sqrt(1 / float64(n))
		}
		f.dct[c] = make([]float64, n)
		for b := range n {
			f.dct[c][b] = scale * math.Cos(math.Pi*float64(c)*(float64(b)+0.5)/float64(n))
		}
	}
	return f, nil
}

// Rate is the sampling rate that Write expects.
func (f *Features) Rate() int { return f.mel.Rate }

// Spec is what so many samples become: f32[frames, bands] or f32[frames, coefficients]. A frame begins every Hop samples as long as it is full:
// there are 1 + (samples-Window)/Hop, rounded down, and one, filled up with zeros, of fewer samples than Window.
func (f *Features) Spec(samples int) tensor.Spec {
	if f.mel.Hop == 0 { // the zero Features
		return tensor.Spec{}
	}
	width := len(f.bands)
	if f.dct != nil {
		width = len(f.dct)
	}
	return tensor.SpecOf(tensor.F32, 1+max(0, samples-f.mel.Window)/f.mel.Hop, width)
}

// Write computes the features of samples into out, which has the Spec.
func (f *Features) Write(samples []float32, out tensor.Tensor) error {
	if want := f.Spec(len(samples)); out.Spec() != want || out.IsNone() {
		return fmt.Errorf("audio: the features of %d samples are %v, not %v", len(samples), want, out.Spec())
	}
	w := f.spare.Get().(*work)
	defer f.spare.Put(w)
	for i := range out.Shape().Dim(0) {
		f.frame(w, samples[min(len(samples), i*f.mel.Hop):], tensor.Data[float32](out.Row(i)))
	}
	return nil
}

// silence is the least energy that a band can have.
const silence = 1e-10

// frame computes one frame.
func (f *Features) frame(w *work, samples []float32, out []float32) {
	clear(w.frame)
	for i, x := range samples[:min(len(samples), f.mel.Window)] {
		w.frame[i] = float64(x) * f.window[i]
	}
	w.fft.Coefficients(w.spectrum, w.frame)
	for b, t := range f.bands {
		energy := 0.0
		for k, weight := range t.weights {
			x := w.spectrum[t.first+k]
			energy += weight * (real(x)*real(x) + imag(x)*imag(x))
		}
		w.bands[b] = math.Log(max(energy, silence)) // NaN stays NaN
	}
	if f.dct == nil {
		for b, v := range w.bands {
			out[b] = float32(v)
		}
		return
	}
	for c, row := range f.dct {
		sum := 0.0
		for b, v := range w.bands {
			sum += row[b] * v
		}
		out[c] = float32(sum)
	}
}
