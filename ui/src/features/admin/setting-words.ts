/** How settings are called where a change of them is told. */
import type { Settings } from "@/api/queries/settings";
import { adminStrings as t } from "@/i18n/en/admin";
import type { Words } from "./differences";

const allowed = (value: boolean | null) => (value === true ? t.allowed : t.forbidden);

export const SETTING_WORDS: Words<Settings> = {
  default_model: [t.model, (value) => value ?? t.serverModel],
  explore_model: [t.exploreModel],
  title_model: [t.titleModel],
  compaction_model: [t.compactionModel],
  advisor_model: [t.advisorModel],
  advisor_enabled: [t.advisor.enabled],
  advisor_effort: [t.advisor.effort],
  advisor_uses_max: [t.advisor.uses],
  advisor_output_max: [t.advisor.output],
  allowed_models: [t.allowedModels],
  instructions: [t.instructions],
  max_steps_per_turn: [t.stepsMax],
  compaction_percent: [t.compactionPercent],
  web_tools_enabled: [t.web, allowed],
  oidc_sign_up_enabled: [t.signUp, allowed],
  api_key_days_max: [t.keyDaysMax],
  approvals: [t.sections.rules, (value) => t.ruleCount(value.rules.length)],
};
