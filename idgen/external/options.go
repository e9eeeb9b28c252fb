// SPDX-License-Identifier: Apache-2.0

package external

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/redact"
)

// Mode says how an ID is hidden.
type Mode int

const (
	// Scramble is the default: a fixed mixing of the bits without any secret.
	// Every program with this package can undo it.
	Scramble Mode = iota
	// Plain is the ID in base64url and no more.
	Plain
	// Keyed is a block cipher under a key of the program's.
	Keyed
)

// String returns "scramble", "plain" or "keyed".
func (m Mode) String() string { return name([]string{"scramble", "plain", "keyed"}, int(m), "Mode") }

const (
	// Speck64 is Speck64/128 of Beaulieu et al., "The SIMON and SPECK Families of
	// Lightweight Block Ciphers" (2013): 27 rounds. It is the default, and the
	// faster one.
	Speck64 Cipher = iota
	// XTEA is the cipher of Needham and Wheeler, "Tea extensions" (1997), with
	// its 64 rounds (32 cycles).
	XTEA
)

func name(names []string, i int, kind string) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, i)
	}
	return names[i]
}

const (
	versions  = 1 << versionBits // how many keys can be in use
	minKeyLen = 16               // bytes of a master key
)

// Options configures a [Codec]. The zero value scrambles IDs of the default
// layout.
type Options struct {
	// Mode is how IDs are hidden. The default is [Scramble].
	Mode Mode

	// Cipher is that of [Keyed]. The default is [Speck64]. All programs that
	// exchange external IDs agree on it.
	Cipher Cipher

	// Keys are the master keys of [Keyed] by their version, 0 to 3, each of 16
	// bytes or more from a random source. [New] copies them.
	Keys map[int][]byte

	// Current is the version of the key that Encode uses. The default is 0.
	Current int

	// Layout is that of the IDs: Decode refuses what has a reserve bit set. The
	// default, used for the zero Layout, is [idgen.DefaultLayout].
	Layout idgen.Layout

	// MaxAhead, if positive, has Decode refuse an ID if its time is further ahead of
	// the clock than this. A day or so tells apart most of what was guessed or
	// mistyped, and allows for clocks that disagree. The default, 0, is not to look.
	MaxAhead time.Duration

	// Now reads the clock for MaxAhead. The default, used for nil, is [time.Now].
	Now func() time.Time
}

// Validate reports everything that is wrong with the options, joined by
// [errors.Join].
func (o Options) Validate() error {
	faults := []error{o.withDefaults().Layout.Validate()}
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("external: options: "+format, args...))
	}
	if o.Mode < Scramble || o.Mode > Keyed {
		fault("Mode is %d; there are Scramble, Plain and Keyed", int(o.Mode))
	}
	if o.MaxAhead < 0 {
		fault("MaxAhead is %v; it must not be negative", o.MaxAhead)
	}
	o.checkKeys(fault)
	return errors.Join(faults...)
}

func (o Options) checkKeys(fault func(format string, args ...any)) {
	if o.Mode != Keyed {
		if len(o.Keys) > 0 || o.Current != 0 || o.Cipher != Speck64 {
			fault("Keys, Current and Cipher are for Mode Keyed, and Mode is %v: the IDs would not be encrypted", o.Mode)
		}
		return
	}
	if o.Cipher != Speck64 && o.Cipher != XTEA {
		fault("Cipher is %d; there are Speck64 and XTEA", int(o.Cipher))
	}
	if _, ok := o.Keys[o.Current]; !ok {
		fault("Keys has none of version %d, which is the Current one", o.Current)
	}
	for version, key := range o.Keys {
		if version < 0 || version >= versions {
			fault("Keys has version %d; versions are 0 to %d", version, versions-1)
		}
		if len(key) < minKeyLen {
			fault("the key of version %d has %d bytes; it needs %d or more", version, len(key), minKeyLen)
		}
	}
}

func (o Options) withDefaults() Options {
	if o.Layout == (idgen.Layout{}) {
		o.Layout = idgen.DefaultLayout()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Format implements [fmt.Formatter]: options print like any struct, except that
// the keys are empty.
func (o Options) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, o.withoutSecret())
}

// LogValue implements [slog.LogValuer]: options are logged without the keys.
func (o Options) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("%+v", o.withoutSecret()))
}

// withoutSecret returns the options with empty keys, as a type without methods.
func (o Options) withoutSecret() any {
	type options = Options
	type Options options // the name that %#v prints
	keys := maps.Clone(o.Keys)
	for version := range keys {
		keys[version] = nil
	}
	o.Keys = keys
	return Options(o)
}

// The reasons why a text is not an external ID. Each error of Decode wraps one of
// them, and [idgen.ErrInvalid].
var (
	// ErrSpelling is a text that is not written as Encode writes: not 11
	// characters, a character that is not of base64url, padding, stray bits.
	ErrSpelling = errors.New("external: not 11 characters of base64url in their one spelling")
	// ErrKeyVersion is a text made with a key that the codec does not have.
	ErrKeyVersion = errors.New("external: made with a key that is not known here")
	// ErrNoID is a text that decodes to bits which no generator makes: it was
	// made up, or belongs to another key or type.
	ErrNoID = errors.New("external: does not decode to an ID")
	// ErrFuture is a text that decodes to an ID of a time too far in the future; see
	// [Options.MaxAhead].
	ErrFuture = errors.New("external: decodes to an ID of a time too far in the future")
)

// decodeError says that a text is not an external ID. It wraps
// [idgen.ErrInvalid] and one of [ErrSpelling], [ErrKeyVersion], [ErrNoID] and
// [ErrFuture].
type decodeError struct {
	text   string // what was to be decoded, its beginning if it is long
	reason error
	detail string
}

func fail[T string | []byte](text T, reason error, detail string) error {
	const most = 32
	return &decodeError{text: string(text[:min(len(text), most)]), reason: reason, detail: detail}
}

// Error quotes the text and tells the reason.
func (e *decodeError) Error() string {
	message := fmt.Sprintf("external: invalid external id %q: %s", e.text, strings.TrimPrefix(e.reason.Error(), "external: "))
	if e.detail != "" {
		message += ": " + e.detail
	}
	return message
}

// Unwrap returns the reason and [idgen.ErrInvalid].
func (e *decodeError) Unwrap() []error { return []error{e.reason, idgen.ErrInvalid} }
