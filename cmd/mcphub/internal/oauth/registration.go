package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// How a client proves to be the one whose id it gives (RFC 7591,
// token_endpoint_auth_method).
const (
	byNothing = "none"
	byBasic   = "client_secret_basic"
	byPost    = "client_secret_post"
	byKey     = "private_key_jwt"
)

// clientName is what people read when they are asked for their consent.
const clientName = "mcphub"

// A Registration is the id of this program at one authorization server, and how it is proved.
type Registration struct {
	ID       string    `json:"id"`
	Secret   string    `json:"secret,omitempty"` // "" if there is none, and where hub.json has it
	Method   string    `json:"method"`           // how it is proved
	Redirect string    `json:"redirect,omitempty"`
	Until    time.Time `json:"until,omitzero"` // that the secret is good for
	Own      bool      `json:"own,omitempty"`  // hub.json names it
}

// isUsable reports whether a registration can be used again.
func (i *Registration) isUsable(redirect string) bool {
	return i != nil && !i.Own && i.ID != "" && i.Redirect == redirect && (i.Until.IsZero() || time.Now().Before(i.Until))
}

// chooseIdentity chooses the identity of this program at a place, and registers one if it
// must. earlier is the one of an earlier login there, or nil. grants are the grant types
// that it is going to ask for.
func (f *Flow) chooseIdentity(ctx context.Context, p *Discovery, redirect string, earlier *Registration, grants ...string) (*Registration, error) {
	document := f.documentAddress()
	switch {
	case f.set.ClientID != "" && f.set.ClientID != document:
		return f.configuredClient(p), nil
	case document != "" && p.Meta.ClientIDMetadataDocumentSupported:
		i := f.configuredClient(p)
		i.ID = document
		return i, nil
	case earlier.isUsable(redirect):
		return earlier, nil
	case p.Meta.RegistrationEndpoint != "":
		return f.registerClient(ctx, p, redirect, grants)
	}
	return nil, fmt.Errorf("the authorization server %s lets no program register itself; register one there, with the redirect %s, and write \"auth\": {\"clientId\": ...} of the server in hub.json", showText(p.Meta.Issuer), redirect)
}

// isDocument reports whether an id is the address of a client id metadata document.
func isDocument(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(u.Path) > 1
}

// documentAddress returns the address of the client id metadata document of this program;
// "": it has none.
func (f *Flow) documentAddress() string {
	if isDocument(f.set.ClientID) {
		return f.set.ClientID
	}
	return f.set.Document
}

// configuredClient returns the client that hub.json names. Its secret stays there.
func (f *Flow) configuredClient(p *Discovery) *Registration {
	i := &Registration{ID: f.set.ClientID, Own: true, Method: byNothing}
	switch {
	case isKey(f.set.ClientSecret):
		i.Method = byKey
	case f.set.ClientSecret != "":
		i.Method = p.Meta.methodOf("")
	}
	return i
}

// passwords are the ways of a client with a secret, and of one that needs none, in the order in which they are chosen.
var passwords = []string{byBasic, byPost, byNothing}

// methodOf returns how a client with a secret proves who it is. said is what its registration says, or "". It counts if the
// authorization server lists it, or lists nothing. A client of which nothing is said sends its secret in a header (RFC 7591,
// and RFC 8414 of a server that lists nothing).
func (m *Metadata) methodOf(said string) string {
	known := m.TokenEndpointAuthMethodsSupported
	if slices.Contains(passwords, said) && (len(known) == 0 || slices.Contains(known, said)) {
		return said
	}
	for _, way := range passwords {
		if slices.Contains(known, way) {
			return way
		}
	}
	return byBasic
}

// registerClient has the authorization server make a client for this program (RFC 7591).
func (f *Flow) registerClient(ctx context.Context, p *Discovery, redirect string, grants []string) (*Registration, error) {
	known, method := p.Meta.TokenEndpointAuthMethodsSupported, byNothing
	if len(known) > 0 && !slices.Contains(known, byNothing) {
		method = p.Meta.methodOf("")
	}
	kind := "native" // OpenID Connect Registration, 2: such a client has redirects on its own machine alone
	if strings.HasPrefix(redirect, "https://") {
		kind = "web"
	}
	asked, err := json.Marshal(&oauthex.ClientRegistrationMetadata{
		ClientName: clientName, RedirectURIs: []string{redirect}, ApplicationType: kind,
		TokenEndpointAuthMethod: method, GrantTypes: append(slices.Clone(grants), "refresh_token"), ResponseTypes: []string{"code"},
	})
	if err != nil {
		return nil, err
	}
	var made struct {
		ID     string          `json:"client_id"`
		Secret string          `json:"client_secret"`
		Method string          `json:"token_endpoint_auth_method"`
		Until  json.RawMessage `json:"client_secret_expires_at"`
	}
	err = f.postJSON(ctx, p.Meta.RegistrationEndpoint, asked, &made)
	if err == nil && made.ID == "" {
		err = errors.New("it answers without \"client_id\"")
	}
	if err != nil {
		return nil, fmt.Errorf("this program cannot register itself at %s with the redirect %s: %w; write under \"auth\" of the server in hub.json a redirect that it takes, as \"redirectHost\", \"redirectPath\" and \"callbackPort\", or the \"clientId\" of a client that you have registered there", showText(p.Meta.RegistrationEndpoint), redirect, err)
	}
	i := &Registration{ID: made.ID, Secret: made.Secret, Method: byNothing, Redirect: redirect}
	if i.Secret != "" {
		i.Method = p.Meta.methodOf(made.Method)
	}
	if until, _ := readSeconds(made.Until); until > 0 {
		i.Until = time.Unix(until, 0)
	}
	return i, nil
}

// postJSON sends a JSON object and reads another one.
func (f *Flow) postJSON(ctx context.Context, at string, text []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(text))
	if err != nil {
		return errors.New("that is no address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := f.http.Do(req)
	if err != nil {
		return stripAddress(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		var no struct {
			Code string `json:"error"`
			Text string `json:"error_description"`
		}
		if why, err := decodeObject(resp.Body, &no); err == nil && why == "" && no.Code != "" {
			return serverError(no.Code, no.Text)
		}
		return fmt.Errorf("it answers with HTTP status %d", resp.StatusCode)
	}
	why, err := decodeObject(resp.Body, into)
	if err == nil && why != "" {
		err = errors.New("it " + why)
	}
	return err
}

// scopesToAsk returns the scopes that a login asks for: hub.json's, else the
// ones that the server asks for; and the ones that an earlier login has, or was found
// to lack.
func (f *Flow) scopesToAsk(p *Discovery, more []string) []string {
	all := slices.Clone(f.set.Scopes)
	if len(all) == 0 {
		all = slices.Clone(p.Scopes)
	}
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

const offlineAccess = "offline_access"

// addOffline asks for a token that outlasts the login, if there is a scope for that.
func addOffline(p *Discovery, scopes []string) []string {
	if slices.Contains(p.Meta.ScopesSupported, offlineAccess) && !slices.Contains(scopes, offlineAccess) {
		return append(scopes, offlineAccess)
	}
	return scopes
}

// A proof authenticates requests for tokens.
type proof struct {
	id, secret string
	style      oauth2.AuthStyle
	params     url.Values
}

// proofOf makes the proof of an identity for the authorization server at issuer.
func (f *Flow) proofOf(i *Registration, issuer string) (proof, error) {
	secret := i.Secret
	if i.Own {
		if i.ID != f.set.ClientID && i.ID != f.documentAddress() {
			return proof{}, fmt.Errorf("the login was made by the client %s, and \"clientId\" in hub.json is another one now", showText(i.ID))
		}
		secret = f.set.ClientSecret
	}
	switch i.Method {
	case byBasic:
		return proof{i.ID, secret, oauth2.AuthStyleInHeader, nil}, nil
	case byPost:
		return proof{i.ID, secret, oauth2.AuthStyleInParams, nil}, nil
	case byKey:
		text, err := signAssertion(secret, i.ID, issuer)
		return proof{i.ID, "", oauth2.AuthStyleInParams, url.Values{
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {text},
		}}, err
	}
	return proof{i.ID, "", oauth2.AuthStyleInParams, nil}, nil
}

// isKey reports whether a secret is a private key.
func isKey(secret string) bool { return strings.HasPrefix(strings.TrimSpace(secret), "-----BEGIN ") }

var errKey = errors.New("\"clientSecret\" is no private key that can sign: it must be one in PEM, PKCS #8, of RSA, P-256, P-384 or Ed25519") // more would quote it

// signAssertion returns a signed statement of who asks (RFC 7523). Its audience is the issuer.
func signAssertion(key, id, issuer string) (string, error) {
	block, _ := pem.Decode([]byte(strings.TrimSpace(key)))
	if block == nil {
		return "", errKey
	}
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", errKey
	}
	var signer jose.Signer
	for _, alg := range []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.RS256, jose.EdDSA} {
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: private}, (&jose.SignerOptions{}).WithType("JWT"))
		if err != nil {
			continue
		}
		if _, err := s.Sign([]byte("{}")); err == nil {
			signer = s
			break
		}
	}
	if signer == nil {
		return "", errKey
	}
	now := time.Now()
	text, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: id, Subject: id, Audience: jwt.Audience{issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Minute)),
	}).Serialize()
	if err != nil {
		return "", errKey
	}
	return text, nil
}
