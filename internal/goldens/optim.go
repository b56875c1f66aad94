package goldens

import "errors"

// Optim is how optimisers and schedules behave, by name.
type Optim struct {
	Torch      string                 // the version
	Optimizers map[string][][]float64 // the four parameters after each update: see optim.py
	Schedules  map[string][]float64   // the rate of each update
}

// LoadOptim reads optim.json.
func LoadOptim() (*Optim, error) {
	var o Optim
	if err := read("optim.json", &o); err != nil {
		return nil, err
	}
	if len(o.Optimizers) == 0 || len(o.Schedules) == 0 {
		return nil, errors.New("goldens: optim.json is empty")
	}
	return &o, nil
}
