// SPDX-License-Identifier: Apache-2.0

package token

import "errors"

var (
	// ErrInvalid says that the token is unknown, or was reset.
	ErrInvalid = errors.New("token: unknown, or reset since")
	// ErrExpired says that the token has expired.
	ErrExpired = errors.New("token: expired")
	// ErrBusy says that there are too many unknown tokens to look all of them up.
	ErrBusy = errors.New("token: too many unknown tokens are presented")
	// ErrKey says that the key cannot have tokens: it is reserved, or not well-formed.
	ErrKey = errors.New("token: no key of IDs")
)
