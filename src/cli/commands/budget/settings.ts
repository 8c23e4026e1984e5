import type { Command } from 'commander';
import { changedSettings, SETTINGS_HELP, settingsText } from '../../budget-settings.js';
import { action } from '../../command-context.js';

export function registerBudgetSettings(budget: Command): void {
  budget
    .command('settings')
    .summary('window, half-life and factors of the tree; key=value changes them')
    .description('The window over which use is counted, and what an hour of each GPU counts. Operators change them.')
    .argument('[key=value...]', 'what to change')
    .addHelpText('after', SETTINGS_HELP)
    .action(
      action(async ({ client, out }, { args: pairs }) => {
        const { budgets } = await client();
        const { etag, ...present } = await budgets.settings();
        const changed = pairs.length === 0 ? present : changedSettings(present, pairs);
        const { etag: _new, ...settings } =
          pairs.length === 0 ? { ...present, etag } : await budgets.putSettings(changed, { ifMatch: etag });
        if (out.isData) return out.data(settings);
        out.line(settingsText(settings));
      }),
    );
}
