package console

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
)

// maxWrong is how many wrong codes end the console: who guesses has so many tries in 2^50.
const maxWrong = 5

// codeSize is how many characters a code has, of five bits each.
const codeSize = 10

// A guard tells the page's own requests from all others. Its methods may be called from any
// goroutine.
type guard struct {
	host    string // and port, as the browser must name them
	secret  string // of the session; made before it begins, so that it cannot be empty
	answers string // follows it in the pages that may answer; the script stores it nowhere

	mu    sync.Mutex // guards code and wrong
	code  string     // that is exchanged for the secret; "" once it was
	wrong int
}

func newGuard(host string) *guard {
	return &guard{host: host, secret: rand.Text() + rand.Text(), answers: rand.Text() + rand.Text(), code: rand.Text()[:codeSize]}
}

// wholeSecret returns what the page has that was opened by the code. A browser keeps what scripts store in files, so a page
// that is loaded again has the secret alone, and looks.
func (g *guard) wholeSecret() string { return g.secret + "." + g.answers }

// exchangeCode takes the code for the whole secret, once. spent reports that there were too many wrong ones.
func (g *guard) exchangeCode(typed string) (secret string, spent bool) {
	typed = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.code == "" || g.wrong >= maxWrong {
		return "", g.code != "" // after the exchange nothing is left to guess
	}
	if subtle.ConstantTimeCompare([]byte(typed), []byte(g.code)) != 1 {
		g.wrong++
		return "", g.wrong >= maxWrong
	}
	g.code = ""
	return g.wholeSecret(), false
}

// shownCode returns the code as people read it.
func (g *guard) shownCode() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.code[:codeSize/2] + "-" + g.code[codeSize/2:]
}

// isUsed reports whether a session has begun.
func (g *guard) isUsed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.code == ""
}

// holdsSecret reports whether a request carries the secret. It must have been read by fromHere.
func (g *guard) holdsSecret(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostForm.Get(sessionField)), []byte(g.secret)) == 1 || g.mayAnswer(r)
}

// mayAnswer reports whether it comes from a page that may answer questions.
func (g *guard) mayAnswer(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostForm.Get(sessionField)), []byte(g.wholeSecret())) == 1
}

// sessionField is the form field that carries the secret.
const sessionField = "session"

// policy lets a page load what comes from here as a file, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// setHeaders are the same for every answer.
//
// The referrer policy is not no-referrer: by that one a browser says "Origin: null" of the page's own
// forms, which is what a sandboxed frame of someone else says. An address holds nothing that is
// secret, and another port is another origin, so nothing is told outside.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// fromHere refuses what does not come from a page of this console, or from the person who opens the
// first one. It reads the form of what it lets pass.
func (g *guard) fromHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		origins := r.Header.Values("Origin")
		own := len(origins) == 1 && origins[0] == "http://"+g.host
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case r.Host != g.host: // a name that was bound again to this address
			http.Error(w, "this is not the address of the console", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodPost:
			http.Error(w, "the console knows GET and POST", http.StatusMethodNotAllowed)
		case r.Method == http.MethodPost && !own,
			len(origins) > 0 && !own,
			r.Method == http.MethodPost && site != "" && site != "same-origin":
			http.Error(w, "the request comes from another page", http.StatusForbidden)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, bodySize)
			if err := r.ParseForm(); err != nil {
				http.Error(w, "the form cannot be read", http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		}
	})
}
