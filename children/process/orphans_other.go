//go:build !linux

package process

import "context"

// Orphans are the processes that this process inherits: none here.
type Orphans struct{}

// AdoptOrphans makes this process inherit, on Linux, who descends from it and
// loses its parent. Elsewhere it does nothing: on Windows no one leaves the job
// of a child, and other systems hand orphans to no one but the first process.
func AdoptOrphans() (*Orphans, error) { return &Orphans{}, nil }

// Run returns when ctx ends.
func (*Orphans) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
