// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// LeaseProvider grants leases to a [Client]. Implementations are safe for
// concurrent use. The packages leasefdb and lease/… of this module are
// providers; lease/leasetest checks one.
type LeaseProvider interface {
	// Acquire returns one or more leases with a total throughput of at least
	// req.Throughput, or an error and no lease. The leases are stored
	// before Acquire returns. A call repeated with the same RequestKey returns
	// the leases of the first call while they last, so that a lost reply costs
	// no machine id.
	Acquire(ctx context.Context, req AcquireRequest) ([]Lease, error)

	// Release gives a lease back before its end. It can be repeated: the same
	// request for a lease that was released already succeeds.
	Release(ctx context.Context, req ReleaseRequest) error
}

// AcquireRequest asks for leases. The JSON names are those of the kazahana
// specification, section 4.1; requestKey and replaces are added.
type AcquireRequest struct {
	// ServiceID is the namespace: IDs are unique within it. Empty means "default".
	ServiceID string `json:"serviceId,omitempty"`
	// Meta is shown in listings of leases: host, process and the like.
	Meta map[string]string `json:"meta,omitempty"`
	// Throughput is how many IDs a millisecond are needed; 0 means 1.
	Throughput int `json:"throughputPerMs,omitempty"`
	// RequestKey makes the request idempotent: the same for each try of one
	// request, different for another. Empty means that it is not.
	RequestKey string `json:"requestKey,omitempty"`
	// Replaces names leases that the new ones take the place of. The client uses them
	// until it has the new ones, and then gives them back. A provider that bounds what
	// a client has leased may let it have both until then, so that a client renews what
	// it may have at most. At most [MaxReplaces] are named.
	Replaces []LeaseRef `json:"replaces,omitempty"`
}

// MaxReplaces is the most leases that a request replaces.
const MaxReplaces = 64

// LeaseRef names a lease of a service.
type LeaseRef struct {
	ID           int64 `json:"id"`
	SequenceBits int   `json:"bitSeq"`
	Created      int64 `json:"created"`
}

// ReleaseRequest gives a lease back. Make one with [Lease.Release]. The JSON
// names are those of the kazahana specification, section 4.1, and additions
// that bind the signature to one lease and name the last millisecond used.
// Where the additions are missing (SequenceBits, Created and LastTs are 0), the
// signature is the specification's, of "<id>:<timestamp>".
type ReleaseRequest struct {
	ServiceID    string `json:"serviceId,omitempty"`
	ID           int64  `json:"id"`
	SequenceBits int    `json:"bitSeq"`
	Created      int64  `json:"created"`
	// LastTs is the last millisecond, Unix, in which an ID was made under the
	// lease; Created-1 if none was. The next holder begins after it.
	LastTs    int64  `json:"lastTs"`
	Timestamp int64  `json:"timestamp"` // when it was signed, Unix milliseconds
	Signature string `json:"signature"` // see Sign
	// LiteralSignature is the specification's signature of the same release. A
	// provider sends it instead to a server that knows no additions. It is not
	// part of the JSON form.
	LiteralSignature string `json:"-"`
}

// IsLiteral reports whether r is the release of the specification, section 4.1: an
// id, a timestamp, and a signature of these two. It does not say which lease of the
// machine it is about, nor the last millisecond that was used.
func (r ReleaseRequest) IsLiteral() bool {
	return r.SequenceBits == 0 && r.Created == 0 && r.LastTs == 0
}

// Literal returns the release of the specification that gives back the same lease:
// without the additions, signed by LiteralSignature.
func (r ReleaseRequest) Literal() ReleaseRequest {
	return ReleaseRequest{ID: r.ID, Timestamp: r.Timestamp, Signature: r.LiteralSignature}
}

// Sign returns the signature of r under secret: HMAC-SHA-256 in hexadecimal of
// "v2:<id>:<bitSeq>:<created>:<lastTs>:<timestamp>:<serviceId>", or of
// "<id>:<timestamp>" if r is literal. The service comes last, since it alone may
// contain a colon.
func (r ReleaseRequest) Sign(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	if r.IsLiteral() {
		fmt.Fprintf(mac, "%d:%d", r.ID, r.Timestamp)
	} else {
		fmt.Fprintf(mac, "v2:%d:%d:%d:%d:%d:%s", r.ID, r.SequenceBits, r.Created, r.LastTs, r.Timestamp, r.ServiceID)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Verify reports, in constant time, whether r carries the signature of secret.
func (r ReleaseRequest) Verify(secret string) bool {
	return hmac.Equal([]byte(r.Sign(secret)), []byte(r.Signature))
}

// ErrLeaseAcquisition says that there is no lease to make an ID under, and
// fallback is disabled. The error wraps what the last try to acquire one brought, if one
// has ended. No ID was made; the generator answers again once a lease could be had, for
// which it keeps trying.
var ErrLeaseAcquisition = errors.New("idgen: failed to acquire a lease and fallback is disabled")

// newAcquisitionError returns an [ErrLeaseAcquisition]; cause is nil while the first try is under way.
func newAcquisitionError(cause error) error {
	if cause == nil {
		return noLeaseYet{}
	}
	return fmt.Errorf("%w: %w", ErrLeaseAcquisition, cause)
}

// noLeaseYet is an [ErrLeaseAcquisition] before the first answer of the provider.
type noLeaseYet struct{}

// Error implements error.
func (noLeaseYet) Error() string { return "idgen: no lease acquired yet and fallback is disabled" }

// Unwrap returns [ErrLeaseAcquisition].
func (noLeaseYet) Unwrap() error { return ErrLeaseAcquisition }

// ErrCustomEpochMismatch says that the leases of a service are for another epoch, or
// another number of reserve or timestamp bits, than a program is configured with; the text
// names both. IDs of both would neither be unique nor sort by time. A [Client] refuses such
// a lease: an [ErrLeaseAcquisition] wraps the error, and it is logged. A server of leases
// grants nothing. One of the two is configured wrongly, or the service's layout was
// changed, which must never happen once IDs are in use.
var ErrCustomEpochMismatch = refusal.ErrCustomEpochMismatch
