// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

const hidden = "[hidden]"

// Secret is a text that is not shown, however it is printed.
type Secret string

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

// String returns what is shown instead; "" if there is no text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format implements [fmt.Formatter], for all verbs.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements [encoding.TextMarshaler], for JSON and others.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// URL is the URL of a server. It is shown without password and query.
type URL string

// Reveal returns the whole URL.
func (u URL) Reveal() string { return string(u) }

// String returns what is shown.
func (u URL) String() string {
	if u == "" {
		return ""
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Host == "" || strings.Contains(parsed.Path, "@") {
		return hidden // a password can be anywhere in it
	}
	parsed.RawQuery, parsed.Fragment = "", ""
	return parsed.Redacted()
}

// Format implements [fmt.Formatter], for all verbs.
func (u URL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.String()) }

// MarshalText implements [encoding.TextMarshaler], for JSON and others.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue implements [slog.LogValuer].
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// secret is a token of the service.
type secret struct{}

func (secret) hidesValues() {}

func (secret) parseValue(raw any) (any, error) {
	t, err := textOf(raw)
	return Secret(t), err
}

// published are admin tokens that anyone can read in the deployed worker's
// repository.
var published = []Secret{"admin_change_me_in_production", "dev_admin_token_12345"}

func (secret) checkValue(value any) error {
	switch s := value.(Secret); {
	case s == "":
		return nil
	case slices.Contains(published, s):
		return errors.New("this token is published with the deployed worker: choose a random one, such as openssl rand -hex 32 prints")
	case len(s) < 16 || len(s) > 1024 || strings.ContainsFunc(string(s), func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it must have 16 to 1024 visible ASCII characters")
	}
	return nil
}

func (secret) describeAllowed() string { return "16 to 1024 characters" }

// urls are one URL or a list, for a []URL or a URL, with one of some schemes.
type urls []string

func (urls) hidesValues() {}

func (k urls) parseValue(raw any) (any, error) {
	var list []URL
	if items, ok := raw.([]any); ok && k.takesList() {
		for _, item := range items {
			t, err := textOf(item)
			if err != nil {
				return nil, err
			}
			list = append(list, URL(t))
		}
		return list, nil
	}
	t, err := textOf(raw)
	if err != nil || !k.takesList() {
		return URL(t), err
	}
	for item := range strings.SplitSeq(t, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, URL(item))
		}
	}
	return list, nil
}

// takesList reports whether there can be a list of them: of Redis' nodes.
func (k urls) takesList() bool { return k[0] == "redis" }

func (k urls) checkValue(value any) error {
	list, several := value.([]URL)
	if !several && value.(URL) != "" {
		list = []URL{value.(URL)}
	}
	for _, u := range list {
		parsed, err := url.Parse(u.Reveal()) // err would quote a password
		if err != nil || !slices.Contains(k, parsed.Scheme) || parsed.Host == "" && parsed.RawQuery == "" || strings.Contains(parsed.Path, "@") {
			return fmt.Errorf("it must be a URL such as %s://host:port/…; in a password, write characters such as @ and / as %%40 and %%2F", k[0])
		}
	}
	return nil
}

func (k urls) describeAllowed() string { return strings.Join(k, "://…, ") + "://…" }

// hasPassword reports whether a URL has, or may have, a password.
func (u URL) hasPassword() bool { return u != "" && u.String() != strings.TrimSpace(string(u)) }
