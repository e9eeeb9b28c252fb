// SPDX-License-Identifier: Apache-2.0

// Package play runs the steps of a scenario on an engine.
package play
