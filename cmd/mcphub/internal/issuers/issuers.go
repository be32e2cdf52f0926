package issuers

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"mcphub/internal/nesting"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
)

// An Issuer is one authorization server whose tokens count.
type Issuer struct {
	URL       string    // as it calls itself: the claim iss, to the byte
	Audience  string    // which the claim aud must name
	Principal string    // the claim that names the principal; "": sub
	Groups    string    // the claim that names its groups; "": none counts
	Scopes    []string  // that a token must have, all of them
	Ceiling   *Ceiling  // nil: its principals have no ceiling
	Toolsets  *Toolsets // nil: its principals may have any
}

// A Ceiling maps the values of one claim to directories. A token with several of the
// values has all of their directories, one with none has no directory at all.
type Ceiling struct {
	Claim  string
	Values map[string][]rootsmgr.RootEntry
}

// Toolsets maps the values of one claim to names of toolsets. A token with several of the values has all of theirs, one with none has none.
type Toolsets struct {
	Claim  string
	Values map[string][]string
}

// An Identity is whose a token is.
type Identity struct {
	Principal principal.Principal
	Values    []string             // those of the ceiling's claim that count, in order; nil if there is no ceiling
	Ceiling   []rootsmgr.RootEntry // nil: none. Without any directory it is empty, and not nil
	Named     []string             // those values of the claim of Toolsets that count, in order; nil if the issuer has no Toolsets
	Toolsets  []string             // nil: any. Without any toolset it is empty, and not nil
	Expires   time.Time
}

const (
	maxToken  = 16 << 10 // bytes of a token
	maxDepth  = 32       // of its claims
	maxKept   = 1024     // verified tokens that are remembered
	maxName   = 256      // bytes of the name of a principal or of a group
	maxGroups = 512      // of a principal
)

// algorithms are those by which an issuer signs with a key that only it has.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// signatureAlgorithms are the same, as the library of signatures calls them.
var signatureAlgorithms = func() (all []jose.SignatureAlgorithm) {
	for _, a := range algorithms {
		all = append(all, jose.SignatureAlgorithm(a))
	}
	return all
}()

// A Verifier verifies tokens of its issuers.
type Verifier struct {
	// Asked, if set before the first use, is called when an issuer cannot be asked for its keys, once a minute at most, and with nil
	// when it can be again. It must not block.
	Asked func(issuer string, err error)

	issuers []*issuer

	mu      sync.Mutex
	kept    map[[sha256.Size]byte]Identity // tokens that were verified, by their digest
	changes int                            // how often other keys counted than before
}

// New makes a Verifier that fetches what it needs of the issuers with client. It
// fetches nothing yet.
func New(all []Issuer, client *http.Client) *Verifier {
	v := &Verifier{kept: map[[sha256.Size]byte]Identity{}}
	for _, one := range all {
		v.issuers = append(v.issuers, newIssuer(one, client, v.forgetTokens))
	}
	return v
}

// forgetTokens forgets what was verified by keys that may count no more.
func (v *Verifier) forgetTokens() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.kept)
	v.changes++
}

// Refresh fetches the keys that do not hold for so much longer. It is called again and again, so that a key that its issuer
// has withdrawn counts no longer than an hour.
func (v *Verifier) Refresh(ctx context.Context, ahead time.Duration) {
	for _, i := range v.issuers {
		if asked, err := i.refresh(ctx, ahead); asked && ctx.Err() == nil {
			i.noteAsked(err, v.Asked)
		}
	}
}

// Verify returns whose a token is. An error says in a sentence why it counts for nothing, and
// never holds the token; it is [principal.ErrScope] where only a scope is missing, and [principal.ErrUnreachable] where the token may be right.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	if len(token) > maxToken {
		return Identity{}, errors.New("the token is too long")
	}
	sum := sha256.Sum256([]byte(token))
	v.mu.Lock()
	id, known := v.kept[sum]
	changes := v.changes
	v.mu.Unlock()
	if known && time.Now().Before(id.Expires) {
		return id, nil
	}
	id, err := v.verifyToken(ctx, token)
	if err != nil {
		return Identity{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changes != changes {
		return id, nil // it was verified by keys of which some may count no more
	}
	if len(v.kept) >= maxKept {
		clear(v.kept)
	}
	v.kept[sum] = id
	return id, nil
}

func (v *Verifier) verifyToken(ctx context.Context, token string) (Identity, error) {
	name, err := claimedIssuer(token)
	if err != nil {
		return Identity{}, err
	}
	at := slices.IndexFunc(v.issuers, func(i *issuer) bool { return i.URL == name })
	if at < 0 {
		return Identity{}, errors.New("the token is of an issuer that this hub does not know")
	}
	i := v.issuers[at]
	verifier, err := i.tokenVerifier(ctx)
	asked := &askError{err}
	var verified *oidc.IDToken
	if err == nil {
		verified, err = verifier.Verify(context.WithValue(ctx, askedKey{}, asked), token)
	}
	if asked.err != nil {
		i.noteAsked(asked.err, v.Asked)
		return Identity{}, fmt.Errorf("%w: %s", principal.ErrUnreachable, i.URL)
	}
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return Identity{}, errors.New("the token has expired")
	case err != nil:
		return Identity{}, fmt.Errorf("the token is not valid: %s", strings.TrimPrefix(err.Error(), "oidc: "))
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return Identity{}, fmt.Errorf("the claims of the token cannot be read: %w", err)
	}
	return i.mapClaims(claims, verified.Expiry)
}

// claimedIssuer reads the claim iss of a token that no one has verified yet: only to
// know whose keys to verify it with.
func claimedIssuer(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("the token is no JWT")
	}
	for _, part := range parts[:2] {
		text, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || nesting.TooDeep(text, maxDepth) >= 0 {
			return "", errors.New("the token is no JWT")
		}
	}
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Issuer == "" {
		return "", errors.New("the token is no JWT that names its issuer")
	}
	return claims.Issuer, nil
}

// mapClaims maps the claims of a verified token.
func (i *issuer) mapClaims(claims map[string]any, expires time.Time) (Identity, error) {
	id := Identity{Principal: principal.Principal{Issuer: i.URL}, Expires: expires}
	claim := i.Principal
	if claim == "" {
		claim = "sub"
	}
	id.Principal.Name, _ = claims[claim].(string)
	if !isName(id.Principal.Name) {
		return Identity{}, fmt.Errorf("the claim %q of the token names nobody", claim)
	}
	if i.Groups != "" {
		if id.Principal.Groups = claimGroups(claims[i.Groups]); len(id.Principal.Groups) > maxGroups {
			return Identity{}, fmt.Errorf("the claim %q of the token names more than %d groups", i.Groups, maxGroups)
		}
	}
	has := append(claimTexts(claims["scope"], true), claimTexts(claims["scp"], true)...)
	for _, scope := range i.Scopes {
		if !slices.Contains(has, scope) {
			return Identity{}, fmt.Errorf("%w: %q", principal.ErrScope, scope)
		}
	}
	if i.Toolsets != nil {
		id.Toolsets, id.Named = []string{}, []string{}
		for _, value := range slices.Compact(slices.Sorted(slices.Values(claimTexts(claims[i.Toolsets.Claim], false)))) {
			if sets, counts := i.Toolsets.Values[value]; counts {
				id.Named, id.Toolsets = append(id.Named, value), append(id.Toolsets, sets...)
			}
		}
	}
	if i.Ceiling == nil {
		return id, nil
	}
	id.Ceiling, id.Values = []rootsmgr.RootEntry{}, []string{}
	for _, value := range claimTexts(claims[i.Ceiling.Claim], false) {
		dirs, counts := i.Ceiling.Values[value]
		if counts && !slices.Contains(id.Values, value) {
			id.Values = append(id.Values, value)
			id.Ceiling = append(id.Ceiling, dirs...)
		}
	}
	return id, nil
}

// isName reports whether a claim can name someone.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && principal.CheckName(text) == ""
}

// claimGroups returns the claim groups that a claim names, in order, each once. An issuer may list them in another order each time.
func claimGroups(claim any) []string {
	all := slices.DeleteFunc(claimTexts(claim, false), func(g string) bool { return !isName(g) })
	slices.Sort(all)
	return slices.Compact(all)
}

// claimTexts returns the values of a claim: a string, or a list of strings. split
// takes a string for several words.
func claimTexts(claim any, split bool) []string {
	switch claim := claim.(type) {
	case string:
		if split {
			return strings.Fields(claim)
		}
		return []string{claim}
	case []any:
		var all []string
		for _, one := range claim {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}
