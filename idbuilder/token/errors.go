// SPDX-License-Identifier: Apache-2.0

package token

import "errors"

var (
	// ErrInvalid: the token is unknown, or was reset.
	ErrInvalid = errors.New("token: unknown, or reset since")
	// ErrExpired: the token was valid once.
	ErrExpired = errors.New("token: expired")
	// ErrBusy: too many unknown tokens are presented to look all of them up.
	ErrBusy = errors.New("token: too many unknown tokens are presented")
	// ErrKey: there are no tokens for such a key: it is reserved, or not well-formed.
	ErrKey = errors.New("token: no key of IDs")
)
