// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// sessionKind is the kind of the documents that hold sessions.
const sessionKind store.Kind = "session"

// errNoSession says that the cookie names no session, or one that has ended.
var errNoSession = errors.New("console: no such session")

// sessions are the logins, in the store.
type sessions struct {
	store    store.Store
	lifetime time.Duration
	now      func() time.Time
}

// session is the document of a login in the store.
type session struct {
	Sealed  []byte    `json:"sealed"` // nonce, then the admin token, encrypted
	Expires time.Time `json:"expires"`
}

// secret is the content of a login's cookie: 256 random bits.
type secret [32]byte

// cookieValue returns the secret as the cookie's value.
func (s secret) cookieValue() string { return base64.RawURLEncoding.EncodeToString(s[:]) }

func parseSecret(text string) (s secret, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != len(s) {
		return s, errNoSession
	}
	return secret(b), nil
}

// documentKey returns the key of the session's document.
func (s secret) documentKey() string {
	h := sha256.Sum256(s[:])
	return hex.EncodeToString(h[:])
}

// newCipher returns the cipher of the session's document.
func (s secret) newCipher() (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, s[:], nil, "idbuilder console session", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// beginSession stores a session with an admin token.
func (s *sessions) beginSession(ctx context.Context, admin string) (secret, error) {
	var id secret
	rand.Read(id[:]) // does not fail
	aead, err := id.newCipher()
	if err != nil {
		return id, err
	}
	expires := s.now().Add(s.lifetime).UTC()
	value, err := json.Marshal(session{Sealed: aead.Seal(nil, nil, []byte(admin), []byte(id.documentKey())), Expires: expires})
	if err != nil {
		return id, err
	}
	_, err = s.store.Put(ctx, sessionKind, store.Document{Key: id.documentKey(), Value: value, Expires: expires})
	if err != nil {
		return id, fmt.Errorf("console: session: %w", err)
	}
	return id, nil
}

// adminToken returns the admin token of a session: [errNoSession] if it has ended.
func (s *sessions) adminToken(ctx context.Context, id secret) (string, error) {
	d, err := s.store.Get(ctx, sessionKind, id.documentKey())
	if errors.Is(err, store.ErrNotFound) {
		return "", errNoSession
	}
	if err != nil {
		return "", fmt.Errorf("console: session: %w", err)
	}
	var stored session
	if err := json.Unmarshal(d.Value, &stored); err != nil {
		return "", &store.CorruptError{Where: "a session of the console", Reason: "it cannot be read", Err: err}
	}
	if !s.now().Before(stored.Expires) {
		return "", errNoSession
	}
	aead, err := id.newCipher()
	if err != nil {
		return "", err
	}
	text, err := aead.Open(nil, nil, stored.Sealed, []byte(id.documentKey()))
	if err != nil {
		return "", &store.CorruptError{Where: "a session of the console", Reason: "it cannot be decrypted", Err: err}
	}
	return string(text), nil
}

// endSession ends a session, on all workers.
func (s *sessions) endSession(ctx context.Context, id secret) error {
	for {
		d, err := s.store.Get(ctx, sessionKind, id.documentKey())
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err == nil {
			err = s.store.Delete(ctx, sessionKind, id.documentKey(), d.Version)
		}
		if err == nil || !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

const (
	loginsAtOnce = 10              // of an address
	loginEvery   = 6 * time.Second // after those
	maxAddresses = 10_000
)

// throttle limits the failed attempts to log in of each network address.
type throttle struct {
	mu     sync.Mutex
	byAddr map[netip.Prefix]*rate.Limiter
	others *rate.Limiter // of addresses that have no room in the map
}

// countAttempt counts an attempt of an address. If there were too many it returns how long to
// wait.
func (t *throttle) countAttempt(remote string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.limiterOf(networkOf(remote), now)
	if l.AllowN(now, 1) {
		return 0
	}
	return max(time.Second, time.Duration((1-l.TokensAt(now))*float64(loginEvery)))
}

func (t *throttle) limiterOf(addr netip.Prefix, now time.Time) *rate.Limiter {
	if t.byAddr == nil {
		t.byAddr, t.others = map[netip.Prefix]*rate.Limiter{}, newLimiter()
	}
	if l := t.byAddr[addr]; l != nil {
		return l
	}
	if len(t.byAddr) >= maxAddresses {
		t.forgetIdle(now)
	}
	if len(t.byAddr) >= maxAddresses {
		return t.others
	}
	l := newLimiter()
	t.byAddr[addr] = l
	return l
}

// forgetIdle forgets addresses that may make as many attempts as a new one.
func (t *throttle) forgetIdle(now time.Time) {
	for addr, l := range t.byAddr {
		if l.TokensAt(now) >= loginsAtOnce {
			delete(t.byAddr, addr)
		}
	}
}

func newLimiter() *rate.Limiter { return rate.NewLimiter(rate.Every(loginEvery), loginsAtOnce) }

// networkOf returns the IPv4 address, or the IPv6 network of 64 bits, which usually belongs
// to one user.
func networkOf(remote string) netip.Prefix {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip := a.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits)
	return p
}
