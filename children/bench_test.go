package children_test

import (
	"context"
	"testing"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// BenchmarkCall is what a Lease costs over the bare ChildConnection, with the same child.
func BenchmarkCall(b *testing.B) {
	s := children.NewSupervisor(children.SupervisorOptions{Specs: []spec.Spec{childtest.Spec("kid", childtest.Script{})}})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	s.Ensure(one, nil)
	params := [][]byte{[]byte(`{"name":"echo","arguments":`), []byte(`{"a":1}`), []byte(`}`)}
	l, err := s.Acquire(b.Context(), one)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Release()
	b.Run("ping", func(b *testing.B) {
		for b.Loop() {
			res, err := l.Call(b.Context(), "ping")
			if err != nil {
				b.Fatal(err)
			}
			res.Release()
		}
	})
	b.Run("acquire and call", func(b *testing.B) {
		for b.Loop() {
			l, err := s.Acquire(b.Context(), one)
			if err != nil {
				b.Fatal(err)
			}
			res, err := l.Call(b.Context(), "tools/call", params...)
			if err != nil {
				b.Fatal(err)
			}
			res.Release()
			l.Release()
		}
	})
	b.Run("acquire alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l, err := s.Acquire(b.Context(), one)
			if err != nil {
				b.Fatal(err)
			}
			l.Release()
		}
	})
}
