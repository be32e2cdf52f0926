package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/zalando/go-keyring"
)

const (
	service = "mcphub"
	// namesEntry is the entry that lists the others. No secret is called like it:
	// their names hold no blanks.
	namesEntry = "names of secrets"
)

// errNone: the keyring has no such entry.
var errNone = errors.New("not in the keyring")

// keyringCalls makes the calls to the keyring, one at a time and bounded.
type keyringCalls struct {
	wait  time.Duration
	lock  chan struct{}
	ready func() error // reports why there is no keyring
}

// sessionBus returns why there is no keyring on systems that reach it by D-Bus. It
// is asked first, because the library would start a bus of its own.
func sessionBus() error {
	switch runtime.GOOS {
	case "windows", "darwin":
		return nil
	}
	if a := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" && a != "autolaunch:" {
		return nil
	}
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(fmt.Sprintf("/run/user/%d/%s", os.Getuid(), name)); err == nil {
			return nil
		}
	}
	return errors.New("there is no session bus, DBUS_SESSION_BUS_ADDRESS is not set")
}

// callWithin makes one call. A call cannot be interrupted; one that takes too long is left
// alone, and those after it wait for it as long as they may.
func (k *keyringCalls) callWithin(ctx context.Context, call func() error) error {
	if err := k.ready(); err != nil {
		return fmt.Errorf("no keyring: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, k.wait)
	defer cancel()
	slow := func() error {
		return fmt.Errorf("the keyring does not answer, it may wait to be unlocked: %w", ctx.Err())
	}
	select {
	case k.lock <- struct{}{}:
	case <-ctx.Done():
		return slow()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-k.lock }()
		done <- call()
	}()
	select {
	case err := <-done:
		switch {
		case errors.Is(err, keyring.ErrNotFound):
			return errNone
		case errors.Is(err, keyring.ErrSetDataTooBig):
			return errors.New("the keyring takes no value of this length")
		case err != nil:
			return fmt.Errorf("no keyring: %w", err)
		}
		return nil
	case <-ctx.Done():
		return slow()
	}
}

func (k *keyringCalls) getSecret(ctx context.Context, name string) (string, error) {
	got := make(chan string, 1) // the call may end when no caller waits any more
	err := k.callWithin(ctx, func() error {
		v, err := keyring.Get(service, name)
		got <- v
		return err
	})
	if err != nil {
		return "", err
	}
	return <-got, nil
}

func (k *keyringCalls) listNames(ctx context.Context) ([]string, error) {
	text, err := k.getSecret(ctx, namesEntry)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	var all []string
	if err == nil {
		err = json.Unmarshal([]byte(text), &all)
	}
	return all, err
}

func (k *keyringCalls) putNames(ctx context.Context, all []string) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return k.callWithin(ctx, func() error { return keyring.Set(service, namesEntry, string(text)) })
}

// setSecret lists the name first: a secret that no one can find again would be worse than
// a name without one.
func (k *keyringCalls) setSecret(ctx context.Context, name, value string) error {
	all, err := k.listNames(ctx)
	if err != nil {
		return err
	}
	listed := slices.Contains(all, name)
	if !listed {
		if len(all) >= maxNames {
			return fmt.Errorf("there are %d secrets in the keyring; no more are kept there", len(all))
		}
		next := append(slices.Clone(all), name)
		slices.Sort(next)
		if err := k.putNames(ctx, next); err != nil {
			return err
		}
	}
	err = k.callWithin(ctx, func() error { return keyring.Set(service, name, value) })
	if err != nil && !listed {
		_ = k.putNames(ctx, all) // what is said is why it was not set
	}
	return err
}

func (k *keyringCalls) removeSecret(ctx context.Context, name string) error {
	gone := k.callWithin(ctx, func() error { return keyring.Delete(service, name) })
	if gone != nil && !errors.Is(gone, errNone) {
		return gone
	}
	all, err := k.listNames(ctx)
	if err == nil && slices.Contains(all, name) {
		err = k.putNames(ctx, slices.DeleteFunc(all, func(n string) bool { return n == name }))
	}
	return errors.Join(gone, err)
}
