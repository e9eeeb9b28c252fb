// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// The defaults of [Options].
const (
	DefaultTimeout      = 10 * time.Second
	DefaultAhead        = 4000
	DefaultFormattedAge = 10 * time.Second
	DefaultMaxBackward  = 5 * time.Second
)

// Options configure a [Client].
type Options struct {
	// URLs are the addresses of the service, such as "https://id.example.com"; at least
	// one. A request goes to the one that answered last; if that fails, to the next.
	URLs []string
	// Token is the key's token, or an admin's: needed for [Admin].
	Token Token
	// PlainHTTP permits [Admin] to send an admin token over a network without TLS: where the
	// network encrypts. It is not needed for this machine, nor for the requests for IDs.
	PlainHTTP bool
	// HTTPClient sends the requests; nil means one with connections of its own. Its
	// Timeout is not needed. It follows redirects only within the scheme, host and port of the
	// URL, and with the same method: the token is for no other server.
	HTTPClient *http.Client
	// Timeout bounds each try of a request; 0 means 10 seconds.
	Timeout time.Duration
	Retry   Retry

	// Ahead is how many IDs of a key are fetched ahead at most, besides those that are being
	// given: 1 to 1,000,000; 0 means 4000.
	Ahead int
	// AnyOrder takes the numbers of increment keys in whichever order the service's workers
	// give them; see the documentation of the package.
	AnyOrder bool

	// FormattedAge is the time after which a fetched ID of a formatted key is dropped, because
	// it may have the date of its fetch. 0 means 10 seconds, negative: IDs are never
	// dropped.
	FormattedAge time.Duration

	// MaxBackward is how long a [Snowflake] waits for a clock that was set back;
	// if the clock is further back, Next returns [ErrClock]. 0 means 5 seconds,
	// negative: it does not wait.
	MaxBackward time.Duration
	// Now is the clock that the timestamps of snowflake IDs come from; nil means
	// [time.Now].
	Now func() time.Time
}

// Retry says how often, and after which pauses, failed requests are repeated.
type Retry struct {
	// Attempts is how often each URL is tried; 0 means 5, 1: requests are not repeated on a URL.
	Attempts int
	// First is the pause before the second try; each further pause is twice as
	// long, up to Max. Half of each pause is random. 0 means 50 milliseconds,
	// and 2 seconds for Max. If the service says how long to wait (Retry-After), the client
	// waits that long; if that is over 30 seconds, the request fails at once.
	First, Max time.Duration
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Errorf("client: "+format, args...)) }
	if len(o.URLs) == 0 {
		refuse("URLs is empty; give at least one, such as http://localhost:8080")
	}
	for i, text := range o.URLs {
		if reason := checkURL(text); reason != "" {
			refuse("URLs[%d] %s", i, reason)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Timeout", o.Timeout}, {"Retry.First", o.Retry.First}, {"Retry.Max", o.Retry.Max}} {
		if d.value < 0 {
			refuse("%s is %v, it cannot be negative", d.name, d.value)
		}
	}
	if o.Retry.Attempts < 0 {
		refuse("Retry.Attempts is %d, it cannot be negative", o.Retry.Attempts)
	}
	if o.Ahead < 0 || o.Ahead > 1_000_000 {
		refuse("Ahead is %d; allowed are 1 to 1000000, and 0 for %d", o.Ahead, DefaultAhead)
	}
	if strings.ContainsFunc(string(o.Token), func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		refuse("Token has a character that cannot be in a header: a space, a control or a non-ASCII character")
	}
	return errors.Join(faults...)
}

// checkURL says what is wrong with the URL of a service. It does not repeat the URL, which may
// have a password.
func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "does not begin with http:// or https://"
	case u.Host == "":
		return "names no host"
	case u.User != nil:
		return "has a user; give the token as Token"
	case u.RawQuery != "" || u.Fragment != "":
		return "has a query or a fragment; give what comes before /v1"
	}
	return ""
}

func (o Options) withDefaults() Options {
	set(&o.Timeout, DefaultTimeout)
	set(&o.Retry.Attempts, 5)
	set(&o.Retry.First, 50*time.Millisecond)
	set(&o.Retry.Max, 2*time.Second)
	set(&o.Ahead, DefaultAhead)
	set(&o.FormattedAge, DefaultFormattedAge)
	set(&o.MaxBackward, DefaultMaxBackward)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// set sets a value that is zero to its default.
func set[T comparable](value *T, byDefault T) {
	var zero T
	if *value == zero {
		*value = byDefault
	}
}

// Token is a secret, an admin's or a key's: it prints, is logged and is encoded as "[redacted]".
// string(t) is its text.
type Token string

// Format implements [fmt.Formatter].
func (t Token) Format(f fmt.State, verb rune) { redact.Format(f, verb, redact.Secret(string(t))) }

// MarshalText implements [encoding.TextMarshaler].
func (t Token) MarshalText() ([]byte, error) { return []byte(redact.Secret(string(t))), nil }

// pauseAfter returns the n-th pause, counted from 1: half of it is random.
func (r Retry) pauseAfter(n int) time.Duration {
	d := r.First << min(n-1, 30)
	if d > r.Max || d < r.First {
		d = r.Max
	}
	return d/2 + jitter(d/2)
}

func jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most + 1)
}
