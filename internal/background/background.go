// Package background has the module's rule for contexts: a nil one counts as context.Background, in every exported function.
//
// It imports the standard library only.
package background

import "context"

// Or is ctx, or context.Background where that is nil.
func Or(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
