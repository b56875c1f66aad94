//go:build amd64 || arm64

package conv

// start returns where a slice starts; that of an argument that is left out is nil.
func start[T any](s []T) *T {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}
