package gym

import "github.com/nemo-lens/lens"

// declareVariables tells lens which variables under Gym's prefix this package
// reads, so that it does not take them for misspelt ones.
func declareVariables() {
	names := []string{envGym + "INSTRUMENT_AIOHTTP"} // accepted, without effect
	for _, f := range configFields(new(TelemetryConfig)) {
		if f.env != "" {
			names = append(names, envGym+f.env)
		}
	}
	lens.DeclareVariables(names...)
}
