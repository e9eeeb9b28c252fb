// SPDX-License-Identifier: Apache-2.0

package external

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/idgen"
)

// Why a text is no external ID: what a [*DecodeError] wraps.
var (
	// ErrSpelling is a text that is not written as Encode writes: not 11
	// characters, a character that is not of base64url, padding, stray bits.
	ErrSpelling = errors.New("external: not 11 characters of base64url in their one spelling")
	// ErrKeyVersion is a text made with a key that the codec does not have.
	ErrKeyVersion = errors.New("external: made with a key that is not known here")
	// ErrNoID is a text that decodes to bits which no generator makes: it was
	// made up, or belongs to another key or type.
	ErrNoID = errors.New("external: decodes to what is no ID")
	// ErrFuture is a text whose ID would be of a time still to come; see
	// [Options.MaxAhead].
	ErrFuture = errors.New("external: decodes to an ID of a time still to come")
)

// DecodeError says that a text is no external ID. It wraps
// [idgen.ErrInvalid] and one of [ErrSpelling], [ErrKeyVersion], [ErrNoID] and
// [ErrFuture].
type DecodeError struct {
	Text   string // what was to be decoded, its beginning if it is long
	Reason error
	detail string
}

func fail[T string | []byte](text T, reason error, detail string) error {
	const most = 32
	return &DecodeError{Text: string(text[:min(len(text), most)]), Reason: reason, detail: detail}
}

// Error quotes the text and tells the reason.
func (e *DecodeError) Error() string {
	message := fmt.Sprintf("external: invalid external id %q: %s", e.Text, strings.TrimPrefix(e.Reason.Error(), "external: "))
	if e.detail != "" {
		message += ": " + e.detail
	}
	return message
}

// Unwrap returns the reason and [idgen.ErrInvalid].
func (e *DecodeError) Unwrap() []error { return []error{e.Reason, idgen.ErrInvalid} }
