// Package browsertest shows pages in a real Chromium without a screen, for tests.
package browsertest
