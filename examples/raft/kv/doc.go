// SPDX-License-Identifier: Apache-2.0

// Package kv is the state machine of the example: a map from strings to strings.
package kv
