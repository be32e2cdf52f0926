package secrets

import "context"

// A Keeper is a Store for whoever moves many secrets into it, such as an import. It is
// used by one goroutine.
type Keeper struct {
	At  Place  // where the last one went; "": there was none
	Why string // why not into the keyring

	store *Store
	ctx   context.Context
}

// Keeper makes a Keeper whose calls end with ctx.
func (s *Store) Keeper(ctx context.Context) *Keeper { return &Keeper{store: s, ctx: ctx} }

// Set keeps a secret.
func (k *Keeper) Set(name, value string) (err error) {
	k.At, k.Why, err = k.store.Set(k.ctx, name, value)
	return err
}

// Delete forgets a secret.
func (k *Keeper) Delete(name string) error { return k.store.Delete(k.ctx, name) }
