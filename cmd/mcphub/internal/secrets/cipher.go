package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// A Cipher encrypts files with a key of age that is kept as a secret. It reads the key
// once, and is used by one goroutine.
type Cipher struct {
	store *Store
	ctx   context.Context
	name  string
	keys  []*age.X25519Identity
}

// Cipher makes a Cipher whose key is kept under a name. Its calls end with ctx.
func (s *Store) Cipher(ctx context.Context, name string) *Cipher {
	return &Cipher{store: s, ctx: ctx, name: name}
}

// Encrypt encrypts a text. If there is no key it makes one.
func (c *Cipher) Encrypt(plain []byte) ([]byte, error) {
	if c.keys == nil {
		texts, err := c.store.getOrSet(c.ctx, c.name, func() (string, error) {
			key, err := age.GenerateX25519Identity()
			if err != nil {
				return "", err
			}
			return key.String(), nil
		})
		if err != nil {
			return nil, err
		}
		if err := c.parseKeys(texts); err != nil {
			return nil, err
		}
	}
	return encryptTo(plain, c.keys[0].Recipient())
}

// Decrypt decrypts what Encrypt made. It makes no key.
func (c *Cipher) Decrypt(sealed []byte) ([]byte, error) {
	if c.keys == nil {
		texts, err := c.store.Copies(c.ctx, c.name)
		if unset := (*NotSetError)(nil); errors.As(err, &unset) {
			return nil, errors.New("its key cannot be found: " + unset.What()) // no one can set it
		}
		if err != nil {
			return nil, err
		}
		if err := c.parseKeys(texts); err != nil {
			return nil, err
		}
	}
	keys := make([]age.Identity, len(c.keys))
	for i, key := range c.keys {
		keys[i] = key
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), keys...)
	if err != nil {
		return nil, fmt.Errorf("%w; its key may be in a keyring that cannot be asked here, or is not asked (\"secrets\": {\"store\": \"file\"}): run it again where it can", err)
	}
	return io.ReadAll(r)
}

func (c *Cipher) parseKeys(texts []string) error {
	var keys []*age.X25519Identity
	for _, text := range texts {
		key, err := age.ParseX25519Identity(text)
		if err != nil {
			return fmt.Errorf("the secret %q is no key of age", c.name) // err may quote it
		}
		keys = append(keys, key)
	}
	c.keys = keys
	return nil
}

// getOrSet returns what is kept under a name in all places. If nothing is, or nothing
// can be seen to be, it keeps what value returns.
func (s *Store) getOrSet(ctx context.Context, name string, value func() (string, error)) ([]string, error) {
	unlock, err := s.lockStore(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	texts, err := s.Copies(ctx, name)
	unset := (*NotSetError)(nil)
	if !errors.As(err, &unset) {
		return texts, err
	}
	text, err := value()
	if err != nil {
		return nil, err
	}
	if unset.Why != "" { // one may be in the keyring, which opens perhaps now: it is not replaced
		err = s.setInFile(name, text)
	} else {
		_, _, err = s.setSecret(ctx, name, text)
	}
	return []string{text}, err
}

func encryptTo(plain []byte, to age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}
