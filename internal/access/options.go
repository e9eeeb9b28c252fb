// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"fmt"
	"strings"
)

// Options configure a Guard. The zero value is ready to use.
type Options struct {
	// Token is what the link has, 32 characters or more without "&", "#" and "%". The default
	// value is 256 random bits.
	Token string
	// Prefix is the path that all pages are below, with a slash at both ends. The default value
	// is "/".
	Prefix string
	// Hosts are values of the header Host that are answered, besides loopback addresses and
	// localhost with any port: host:port.
	Hosts []string
}

// minToken is the least length of a token.
const minToken = 32

// Validate reports all faults of the options.
func (o Options) Validate() error {
	var faults []error
	if o.Token != "" && (len(o.Token) < minToken || strings.ContainsAny(o.Token, "&#%+ ")) {
		faults = append(faults, fmt.Errorf("access: Token: it has %d characters, want %d or more, without &, #, %%, + and spaces", len(o.Token), minToken))
	}
	if o.Prefix != "" && (!strings.HasPrefix(o.Prefix, "/") || !strings.HasSuffix(o.Prefix, "/")) {
		faults = append(faults, fmt.Errorf("access: Prefix: %q does not begin and end with a slash", o.Prefix))
	}
	for _, host := range o.Hosts {
		if host == "" {
			faults = append(faults, errors.New("access: Hosts: one is empty"))
		}
	}
	return errors.Join(faults...)
}
