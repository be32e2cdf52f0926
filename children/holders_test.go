package children_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// counter is a Launcher that counts what it has running. If next is set, it is the script of the runs after the first.
type counter struct {
	childtest.Pipes
	next  *childtest.Script
	mu    sync.Mutex
	live  int
	most  int
	total int
}

type countedLink struct {
	link.ChildConnection
	c *counter
}

func (c *counter) Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	if c.next != nil && c.runs() > 0 {
		s.Env = c.next.Env()
	}
	link, err := c.Pipes.Launch(l, s, h, log)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live++
	c.total++
	c.most = max(c.most, c.live)
	return &countedLink{link, c}, nil
}

func (l *countedLink) Run(ctx context.Context) error {
	err := l.ChildConnection.Run(ctx)
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.live--
	return err
}

func (c *counter) counts() (live, most, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live, c.most, c.total
}

func (c *counter) runs() int {
	_, _, total := c.counts()
	return total
}

// bubble runs a Supervisor of children in this process, in a time of its own.
func bubble(t *testing.T, options children.SupervisorOptions, test func(t *testing.T, s *children.Supervisor, c *counter)) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		options := options
		options.Launcher = c
		s := children.NewSupervisor(options)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if live, _, _ := c.counts(); live != 0 {
				t.Errorf("%d children outlived the Supervisor", live)
			}
		}()
		test(t, s, c)
	})
}

func shared(name string, share spec.Share, idle time.Duration) spec.Spec {
	s := childtest.Spec(name, childtest.Script{})
	s.Share, s.IdleTimeout = share, idle
	return s
}

func key(child, instance string) spec.Key { return spec.Key{Child: child, Instance: instance} }

func TestHoldersKeepASharedInstance(t *testing.T) {
	t.Parallel()
	k := key("kid", "roots-1")
	for _, c := range []struct {
		idle, warm time.Duration
	}{
		{10 * time.Minute, 10 * time.Minute},
		{0, 15 * time.Minute}, // it never idles, but what no one holds is not kept for ever
	} {
		options := children.SupervisorOptions{Specs: []spec.Spec{shared("kid", spec.ShareRoots, c.idle)}}
		bubble(t, options, func(t *testing.T, s *children.Supervisor, n *counter) {
			one, two := s.Join(k), s.Join(k)
			if one == 0 || one != two {
				t.Fatalf("serials %d and %d of one instance", one, two)
			}
			s.Ensure(k, nil)
			acquire(t, s, k).Release()
			s.LeaveInstance(k)
			time.Sleep(5 * time.Hour)
			synctest.Wait()
			if len(s.Status()) != 1 {
				t.Fatal("an instance that somebody holds is gone")
			}
			acquire(t, s, k).Release() // control: it can be called, started again if need be
			s.LeaveInstance(k)
			if _, err := s.Acquire(t.Context(), k); err != nil {
				t.Fatalf("not kept warm: %v", err)
			} // and this lease is never given back: a call under way
			time.Sleep(3 * time.Hour)
			synctest.Wait()
			if live, _, _ := n.counts(); live != 1 {
				t.Fatal("a call under way was cut off with the last holder's leaving")
			}
		})
		bubble(t, options, func(t *testing.T, s *children.Supervisor, n *counter) {
			first := s.Join(k)
			s.Ensure(k, nil)
			acquire(t, s, k).Release()
			s.LeaveInstance(k)
			time.Sleep(c.warm - time.Second)
			synctest.Wait()
			if again := s.Join(k); again != first {
				t.Fatalf("within its idle time another instance: %d, then %d", first, again)
			}
			acquire(t, s, k).Release()
			s.LeaveInstance(k)
			time.Sleep(c.warm + time.Second)
			synctest.Wait()
			if live, _, _ := n.counts(); live != 0 || len(s.Status()) != 0 {
				t.Fatalf("nobody holds it, and it lives on: %d, %v", live, s.Status())
			}
			if again := s.Join(k); again == first {
				t.Error("one that ended has come back under its serial")
			}
			s.Ensure(k, nil)
			acquire(t, s, k).Release()
		})
	}
}

func TestLastHolderOfItsOwnEndsItAtOnce(t *testing.T) {
	t.Parallel()
	k := key("kid", "s1")
	options := children.SupervisorOptions{Specs: []spec.Spec{shared("kid", spec.ShareSession, time.Hour)}}
	bubble(t, options, func(t *testing.T, s *children.Supervisor, n *counter) {
		s.Join(k)
		s.Ensure(k, nil)
		acquire(t, s, k).Release()
		s.LeaveInstance(k)
		synctest.Wait()
		if live, _, _ := n.counts(); live != 0 || len(s.Status()) != 0 {
			t.Errorf("%d left, %v", live, s.Status())
		}
		s.LeaveInstance(k) // once too often does no harm
	})
}

// TestNobodyWaitsForTheUnheld: what has not come up is not kept for anybody.
func TestNobodyWaitsForTheUnheld(t *testing.T) {
	t.Parallel()
	k := key("kid", "roots-1")
	child := shared("kid", spec.ShareRoots, 10*time.Minute)
	dead := childtest.Spec("kid", childtest.Script{Exit: 3})
	child.Env = dead.Env
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{child}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		s.Join(k)
		s.Ensure(k, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(s.Status()) != 1 {
			t.Fatal("held and gone")
		}
		s.LeaveInstance(k)
		synctest.Wait()
		if len(s.Status()) != 0 {
			t.Errorf("it fails for nobody: %v", s.Status())
		}
	})
}

func TestOverTheLimitTheLongestIdleGoes(t *testing.T) {
	t.Parallel()
	specs := []spec.Spec{
		shared("a", spec.ShareAll, 0), shared("b", spec.ShareRoots, time.Hour), shared("c", spec.ShareAll, 0),
		shared("own", spec.ShareSession, 0),
	}
	a, b, c, own := key("a", ""), key("b", "roots-1"), key("c", ""), key("own", "s")
	bubble(t, children.SupervisorOptions{Specs: specs, MaxChildren: 2}, func(t *testing.T, s *children.Supervisor, n *counter) {
		for _, k := range []spec.Key{a, b, c, own} {
			s.Join(k)
		}
		s.Ensure(a, nil)
		acquire(t, s, a).Release()
		time.Sleep(time.Minute)
		s.Ensure(b, nil)
		held := acquire(t, s, b)
		time.Sleep(time.Minute)
		s.Ensure(c, nil)
		acquire(t, s, c).Release() // takes the place of a, which is idle; b has a call under way
		if st := statusOf(t, s, "a"); st.State != children.Stopped || !strings.Contains(st.Err, "make room") {
			t.Errorf("a: %v", st)
		}
		if st := statusOf(t, s, "b"); st.State != children.Ready {
			t.Errorf("b: %v", st)
		}
		acquire(t, s, a).Release() // started by the call, instead of c
		s.Ensure(own, nil)
		acquire(t, s, own).Release() // instead of a: b and its call stay
		// What is left is a call under way and someone's own process: no place.
		_, err := s.Acquire(t.Context(), a)
		var down *run.UnavailableError
		if !errors.As(err, &down) || !strings.Contains(err.Error(), "busy") || !strings.Contains(err.Error(), "limits.children") {
			t.Fatalf("over the limit: %v", err)
		}
		if st := statusOf(t, s, "a"); st.Failures != 0 || st.CircuitOpen {
			t.Errorf("a lack of room is counted as its failure: %v", st)
		}
		held.Release()
		time.Sleep(2 * time.Second)
		acquire(t, s, a).Release() // the control: as soon as b is idle there is room
		if _, most, _ := n.counts(); most != 2 {
			t.Errorf("%d ran at a time", most)
		}
	})
}

// TestManyForFewPlaces calls 40 shared instances at random through 4 places:
// every call is served in the end and no more than 4 run.
func TestManyForFewPlaces(t *testing.T) {
	t.Parallel()
	child := shared("kid", spec.ShareRoots, time.Hour)
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{child}, MaxChildren: 4}, func(t *testing.T, s *children.Supervisor, n *counter) {
		var wg sync.WaitGroup
		for i := range 40 {
			k := key("kid", fmt.Sprint("roots-", i))
			s.Join(k)
			wg.Go(func() {
				for j := range 5 {
					time.Sleep(time.Duration(i*7+j*13) * time.Second)
					for {
						l, err := s.Acquire(t.Context(), k)
						if err == nil {
							if got := call(t, l, "echo", fmt.Sprintf(`{"i":%d}`, i)); !strings.Contains(got, fmt.Sprint(i)) {
								t.Errorf("%d: %s", i, got)
							}
							l.Release()
							break
						}
						if !strings.Contains(err.Error(), "busy") {
							t.Errorf("%d: %v", i, err)
							return
						}
						time.Sleep(time.Second)
					}
				}
				s.LeaveInstance(k)
			})
		}
		wg.Wait()
		if _, most, total := n.counts(); most > 4 || total < 40 {
			t.Errorf("%d at a time of %d", most, total)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if st := s.Status(); len(st) != 0 {
			t.Errorf("left: %v", st)
		}
	})
}

// TestHoldersComeAndGo has sessions join and leave one instance from many
// goroutines: while one holds it, it can be called.
func TestHoldersComeAndGo(t *testing.T) {
	t.Parallel()
	k := key("kid", "roots-1")
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{shared("kid", spec.ShareRoots, time.Second)}}, func(t *testing.T, s *children.Supervisor, n *counter) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 50 {
					s.Join(k)
					s.Ensure(k, nil)
					l, err := s.Acquire(t.Context(), k)
					if err != nil {
						t.Errorf("%d.%d: %v", i, j, err)
					} else {
						l.Release()
					}
					s.LeaveInstance(k)
					time.Sleep(time.Duration((i*37+j*11)%97) * 50 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if live, most, _ := n.counts(); live != 0 || most != 1 || len(s.Status()) != 0 {
			t.Errorf("%d live of at most %d at a time, %v", live, most, s.Status())
		}
	})
}
