// SPDX-License-Identifier: Apache-2.0

// Package record runs a check whose failures are expected.
package record
