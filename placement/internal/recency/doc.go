// SPDX-License-Identifier: Apache-2.0

// Package recency has the container of a coordinator: a map whose values are in the
// order of their last use. It is efficient for millions of values that live long.
package recency
